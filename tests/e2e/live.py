"""The real suite: `aex up` as a process, on a data directory and on ports of its own."""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from aex_cli.suite.service_spec import MODULES
from tests.libs.cli.suites import ROOT, RunningSuite, free_ports, supervised

PLACES = {name: place for place, name in enumerate(MODULES)}
ANSWER_S = 40.0
"""Longer than any `wait_s`."""


@dataclass(frozen=True, slots=True)
class Live:
    """A running suite, and what reaches it."""

    running: RunningSuite
    data_dir: Path
    http: httpx.Client

    def url(self, service: str, path: str) -> str:
        """Where a path of a service is."""
        return f"http://127.0.0.1:{self.running.port + PLACES[service]}{path}"

    def process(self, service: str) -> psutil.Process:
        """The service's process, as it is now."""
        return self.running.child(PLACES[service])

    def log(self, service: str) -> list[dict[str, Any]]:
        """What the service has logged so far; a line that is still being written is left out."""
        text = (self.data_dir / "logs" / f"{service}.log").read_text(encoding="utf-8")
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


_BROKEN = set(range(500, 600)) - {503}
_NEVER = {"unexpected_error", "background_crashed", "receiver_failed", "event_refused", "event_failed", "timer_failed"}


@contextmanager
def live_suite(
    data_dir: Path,
    *,
    port: int | None = None,
    environment: Mapping[str, str] | None = None,
    config: Path | None = None,
    replaced: Mapping[str, str] | None = None,
) -> Iterator[Live]:
    """`aex up`, ready; `replaced` runs other modules in the place of some services. Killed at the end if need be."""
    with starting_suite(data_dir, port=port, environment=environment, config=config, replaced=replaced) as live:
        live.running.ready()
        yield live


@contextmanager
def starting_suite(
    data_dir: Path,
    *,
    port: int | None = None,
    environment: Mapping[str, str] | None = None,
    config: Path | None = None,
    replaced: Mapping[str, str] | None = None,
) -> Iterator[Live]:
    """The same, not waited for."""
    base = free_ports(len(MODULES)) if port is None else port
    options = ["--data-dir", str(data_dir), "--port-base", str(base), *(["--config", str(config)] if config else [])]
    with (
        supervised(_command(options, replaced or {}), clean_environment(environment), base) as running,
        httpx.Client(timeout=ANSWER_S, trust_env=False, limits=httpx.Limits(max_connections=100)) as client,
    ):
        yield Live(running, data_dir, client)


def clean_environment(further: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours without the variables of a suite that somebody may run beside the tests, with the tests importable."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("AEX_")}
    return {**ours, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **(further or {})}


def _command(options: Sequence[str], replaced: Mapping[str, str]) -> list[str]:
    if not replaced:
        return [sys.executable, "-m", "aex_cli", "up", *options]
    pairs = [f"{service}={module}" for service, module in replaced.items()]
    return [sys.executable, "-m", "tests.e2e.altered_suite", *options, *pairs]
