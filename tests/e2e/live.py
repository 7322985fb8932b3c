"""The real suite: `aex up` as a process, on a data directory and on ports of its own."""

import json
import os
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from aex_cli.suite.service_spec import MODULES, default_suite
from aex_runtime.settings import RuntimeSettings
from tests.e2e.backend import EMBEDDED, Backend
from tests.libs.cli.suites import PATIENCE_S, ROOT, RunningSuite, free_ports, supervised

PLACES = {name: place for place, name in enumerate(MODULES)}
ANSWER_S = 40.0
"""Longer than any `wait_s`."""


@dataclass(frozen=True, slots=True)
class Live:
    """A running suite, and what reaches it."""

    running: RunningSuite
    data_dir: Path
    http: httpx.Client
    backend: Backend = EMBEDDED
    replicas: int = 1

    @property
    def settings(self) -> RuntimeSettings:
        """Of the backend that the services are on."""
        return self.backend.settings(self.data_dir)

    def url(self, service: str, path: str, replica: int | None = None) -> str:
        """Where a path of a service is: at this replica, or else at any, as behind a load balancer."""
        chosen = replica or random.randint(1, self.replicas)
        return f"http://127.0.0.1:{self.running.port + _place(service, chosen)}{path}"

    def process(self, service: str, replica: int = 1) -> psutil.Process:
        """The service's process, as it is now."""
        return self.running.child(_place(service, replica))

    def labels(self, service: str) -> list[str]:
        """What the service's processes are called."""
        return [spec.label for spec in default_suite(self.running.port, self.replicas) if spec.name == service]

    def log(self, service: str) -> list[dict[str, Any]]:
        """What the service's processes have logged so far; a line that is still being written is left out."""
        return [line for label in self.labels(service) for line in self._lines(label)]

    def _lines(self, label: str) -> list[dict[str, Any]]:
        text = (self.data_dir / "logs" / f"{label}.log").read_text(encoding="utf-8")
        return [
            json.loads(line) for line in text.splitlines(keepends=True) if line.startswith("{") and line[-1] == "\n"
        ]

    def metric(self, service: str, name: str) -> float:
        """The value of a gauge without further labels."""
        text = self.http.get(self.url(service, "/metrics")).raise_for_status().text
        return float(next(line for line in text.splitlines() if line.startswith(name + "{")).rpartition(" ")[2])

    def breakdowns(self) -> list[dict[str, Any]]:
        """Log lines that no run may have: unexpected errors, crashes, and answers of 5xx but 503."""
        return [
            line | {"service": service}
            for service in MODULES
            for line in self.log(service)
            if line["event"] in _NEVER or (line["event"] == "request" and line["status"] in _BROKEN)
        ]


def _place(service: str, replica: int) -> int:
    return len(MODULES) * (replica - 1) + PLACES[service]


_BROKEN = set(range(500, 600)) - {503}
_NEVER = {"unexpected_error", "background_crashed", "receiver_failed", "event_refused", "event_failed", "timer_failed"}


@contextmanager
def live_suite(
    data_dir: Path,
    backend: Backend = EMBEDDED,
    *,
    port: int | None = None,
    environment: Mapping[str, str] | None = None,
    config: Path | None = None,
    replaced: Mapping[str, str] | None = None,
    replicas: int = 1,
    waited_for: bool = True,
) -> Iterator[Live]:
    """`aex up`, ready if `waited_for`; `replaced` runs other modules in the place of some services.

    Killed at the end if need be.
    """
    base = free_ports(len(MODULES) * replicas) if port is None else port
    options = ["--data-dir", str(data_dir), "--port-base", str(base), "--replicas", str(replicas)]
    options += ["--config", str(config)] if config else []
    variables = clean_environment({**backend.environment, **(environment or {})})
    with (
        supervised(_command(options, replaced or {}), variables, base) as running,
        httpx.Client(timeout=ANSWER_S, trust_env=False, limits=httpx.Limits(max_connections=100)) as client,
    ):
        if waited_for:
            running.ready(PATIENCE_S * replicas)
        yield Live(running, data_dir, client, backend, replicas)


def clean_environment(further: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours without the variables of a suite that somebody may run beside the tests, with the tests importable."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("AEX_") and not name.endswith("_EMULATOR_HOST")
    }
    return {**ours, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **(further or {})}


def _command(options: Sequence[str], replaced: Mapping[str, str]) -> list[str]:
    if not replaced:
        return [sys.executable, "-m", "aex_cli", "up", *options]
    pairs = [f"{service}={module}" for service, module in replaced.items()]
    return [sys.executable, "-m", "tests.e2e.altered_suite", *options, *pairs]
