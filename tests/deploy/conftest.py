"""Fixtures: the responses of the four applications, and Terraform's locals."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.deploy.terraform import TERRAFORM, VALUES, evaluate, list_locals
from tests.parts.promql import Metric, parse_metrics
from tests.parts.settings_table import READINESS, SERVICES, create_app, load_settings_class


async def _get_each(folder: Path, paths: tuple[str, ...]) -> list[dict[str, httpx.Response]]:
    """Return the responses of each application, in this order of requests."""
    responses = []
    for service in SERVICES:
        app = create_app(service, load_settings_class(service)(data_dir=folder))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as client:
            responses.append({path: await client.get(path) for path in paths})
    return responses


@pytest.fixture(scope="session")
def responses(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, httpx.Response]]:
    folder = tmp_path_factory.mktemp("responses") / ".aex"
    return asyncio.run(_get_each(folder, ("/healthz", "/metrics", READINESS)))


@pytest.fixture(scope="session")
def metrics(responses: list[dict[str, httpx.Response]]) -> Mapping[str, Metric]:
    """Every metric of the four services before the first contract."""
    return parse_metrics(*(each["/metrics"].text for each in responses))


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Terraform's locals by name."""
    if TERRAFORM is None:
        pytest.skip("terraform is not on the PATH")
    expression = "{" + ", ".join(f"{name} = local.{name}" for name in list_locals()) + "}"
    found: Mapping[str, Any] = evaluate(tmp_path_factory.mktemp("terraform"), expression, VALUES)
    return found
