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

from aex_cli.suite.service_spec import MODULES, plan_suite
from aex_runtime.settings import RuntimeSettings
from tests.e2e.altered_service import ALTER
from tests.e2e.backend import EMBEDDED, Backend
from tests.emulators.java import guard_command
from tests.libs.cli.suites import ROOT, TIMEOUT_S, RunningSuite, free_ports, run_supervised

FOLDERS = {name: location for location, name in enumerate(MODULES)}
ANSWER_S = 90.0
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
        """Return the settings of the services' backend."""
        return self.backend.settings(self.data_dir)

    def url(self, service: str, path: str, replica: int | None = None) -> str:
        """Return the URL of a service's path, at this replica or at any one."""
        chosen = replica or random.randint(1, self.replicas)
        return f"http://127.0.0.1:{self.running.port + _folder_of(service, chosen)}{path}"

    def process(self, service: str, replica: int = 1) -> psutil.Process:
        """The service's process, as it is now."""
        return self.running.child(_folder_of(service, replica))

    def labels(self, service: str) -> list[str]:
        """Return the names of the service's processes."""
        return [spec.label for spec in plan_suite(self.running.port, self.replicas) if spec.name == service]

    def log(self, service: str) -> list[dict[str, Any]]:
        """Return the complete lines that the service's processes have logged."""
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


def _folder_of(service: str, replica: int) -> int:
    return len(MODULES) * (replica - 1) + FOLDERS[service]


_BROKEN = set(range(500, 600)) - {503}
_NEVER = {"unexpected_error", "background_crashed", "receiver_failed", "event_parked", "event_failed", "timer_failed"}


@contextmanager
def live_suite(
    data_dir: Path,
    backend: Backend = EMBEDDED,
    *,
    port: int | None = None,
    environment: Mapping[str, str] | None = None,
    config: Path | None = None,
    alter: str | None = None,
    replicas: int = 1,
    waited_for: bool = True,
    guard: bool = False,
) -> Iterator[Live]:
    """Run `aex up`, and wait until it is ready if `waited_for`.

    `alter` names a function of `altered_service` that alters the services. The suite is killed at the end if
    necessary; with `guard` also when this process is killed.
    """
    base = free_ports(len(MODULES) * replicas) if port is None else port
    options = ["--data-dir", str(data_dir), "--port-base", str(base), "--replicas", str(replicas)]
    options += ["--config", str(config)] if config else []
    command = _command(options, altered=alter is not None)
    variables = clean_environment({**backend.environment, **(environment or {}), **({ALTER: alter} if alter else {})})
    with (
        run_supervised(guard_command(command) if guard else command, variables, base) as running,
        httpx.Client(timeout=ANSWER_S, trust_env=False, limits=httpx.Limits(max_connections=100)) as client,
    ):
        if waited_for:
            running.wait_until_ready(TIMEOUT_S * replicas)
        yield Live(running, data_dir, client, backend, replicas)


def clean_environment(further: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this environment without the variables of another suite, with the tests importable."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("AEX_") and not name.endswith("_EMULATOR_HOST")
    }
    return {**own, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **(further or {})}


def _command(options: Sequence[str], *, altered: bool) -> list[str]:
    command = ["tests.e2e.altered_suite"] if altered else ["aex_cli", "up"]
    return [sys.executable, "-m", *command, *options]
