"""The section of the reference on what `/metrics` of each service shows."""

import asyncio
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from aex_cli.suite.service_spec import MODULES
from deploy.reference.fields import NONE, sentence
from deploy.reference.tables import Section, table

_INTRODUCTION = """\
Every series has the label `service`. [What is measured](dashboards/README.md) says which cover a process and which its
store; [alarms](alarms.md) has the limits."""
_COLUMNS = ("metric", "service", "type", "labels", "unit", "meaning")
_UNITS = {"_seconds": "s", "_bytes": "bytes", "_batches": "batches"}
_OF_SERVICE = {"service", "le"}


def list_measures() -> Iterator[Section]:
    """Yield the table of all metrics that the services expose before the first contract."""
    families: dict[str, Metric] = {}
    services: dict[str, list[str]] = {}
    for service, scrape in asyncio.run(_scrape_all()).items():
        for family in text_string_to_metric_families(scrape):
            services.setdefault(family.name, []).append(service)
            families.setdefault(family.name, family)
    rows = [_cells(families[name], services[name]) for name in sorted(families)]
    yield Section("Operational metrics", _INTRODUCTION, table(_COLUMNS, rows))


def _cells(family: Metric, services: list[str]) -> tuple[str, ...]:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    labels = {label for sample in family.samples for label in sample.labels} - _OF_SERVICE
    return (
        f"`{name}`",
        "every" if len(services) == len(MODULES) else ", ".join(services),
        family.type,
        ", ".join(f"`{label}`" for label in sorted(labels)) or NONE,
        next((unit for end, unit in _UNITS.items() if family.name.endswith(end)), NONE),
        sentence(family.documentation, f"the help of {name}"),
    )


async def _scrape_all() -> dict[str, str]:
    with TemporaryDirectory() as folder:
        return {service: await _scrape(module, Path(folder)) for service, module in MODULES.items()}


async def _scrape(module: str, folder: Path) -> str:
    """Return a service's `/metrics` after one request, whose series show their labels."""
    settings = import_module(f"{module}.settings").Settings(data_dir=folder)
    application = import_module(f"{module}.main").create_app(settings)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://service") as client:
        await client.get("/healthz")
        return (await client.get("/metrics")).text
