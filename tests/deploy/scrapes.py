"""What the four services answer to a scraper."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import httpx
from fastapi import FastAPI

from aex_cli.suite.service_spec import MODULES


def four_services(folder: Path) -> list[FastAPI]:
    """The applications on a data directory, not started."""
    settings = [import_module(f"{module}.settings").Settings(data_dir=folder) for module in MODULES.values()]
    return [
        import_module(f"{module}.main").create_app(own) for module, own in zip(MODULES.values(), settings, strict=True)
    ]


async def answered(apps: Sequence[FastAPI], path: str) -> list[httpx.Response]:
    """What each of them answers."""
    found = []
    for app in apps:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as client:
            found.append(await client.get(path))
    return found


async def scraped(apps: Sequence[FastAPI]) -> list[str]:
    """Their metrics, after a first request to each."""
    await answered(apps, "/healthz")
    return [answer.text for answer in await answered(apps, "/metrics")]
