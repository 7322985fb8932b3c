"""The compose file as Docker Compose resolves it, and its services as plain processes.

No container is started: host names and folders of containers are replaced by those of this machine.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.backend import EMBEDDED
from tests.e2e.live import ANSWER_S, Live
from tests.e2e.parties import Caller, Parties
from tests.libs.cli.suites import RunningSuite, free_ports
from tests.parts.dockerfiles import ROOT, TOOL, read_last_stage
from tests.parts.settings_table import SERVICES, port_of

COMPOSE_FILE = ROOT / "docker-compose.yml"
EMULATORS, COMMAND = ("firestore", "pubsub"), "aex"
ROLES = {"consumer": "acme", "agent": "bot", "finance": "fiona", "operator": "olga"}
_BIN = Path(sys.executable).parent
_HEALTHY_WITHIN_S = 150.0


def run_compose(
    env_file: Path = Path(os.devnull), files: Sequence[Path] = (COMPOSE_FILE,)
) -> subprocess.CompletedProcess[str]:
    """Run `docker compose config`, which needs no daemon, without this machine's environment and `.env`."""
    named = [option for file in files for option in ("--file", str(file))]
    command = [str(_BIN / "docker-compose"), "--env-file", str(env_file), *named, "--profile", "*", "config"]
    environment = {"PATH": os.environ["PATH"]}
    return subprocess.run(
        [*command, "--format", "json"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def resolve_compose(env_file: Path = Path(os.devnull), *overrides: Path) -> dict[str, Any]:
    resolved = run_compose(env_file, [COMPOSE_FILE, *overrides])
    assert resolved.returncode == 0, resolved.stderr
    # Docker Compose doubles every dollar, so that its output is a compose file again.
    found: dict[str, Any] = json.loads(resolved.stdout.replace("$$", "$"))["services"]
    return found


def container_environment(service: Mapping[str, Any]) -> dict[str, str]:
    """Return a container's environment, which lacks names without a value."""
    return {name: value for name, value in service["environment"].items() if value is not None}


@dataclass
class ComposeProcesses:
    """Services of a compose file as processes. `replacements`: container text → machine text."""

    services: Mapping[str, Any]
    replacements: Mapping[str, str]
    port_base: int
    folder: Path
    running: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def replace(self, text: str) -> str:
        """Return a text with the longest replacements made first."""
        for name in sorted(self.replacements, key=len, reverse=True):
            text = text.replace(name, self.replacements[name])
        return text

    def environment(self, service: str) -> dict[str, str]:
        """Return the variables of the image, overridden by those of the compose file."""
        image = read_last_stage(TOOL if service == COMMAND else service).environment
        merged = {**image, **container_environment(self.services[service])}
        if service in SERVICES:
            merged["AEX_PORT"] = str(self.port_base + SERVICES.index(service))
        return {**{k: self.replace(v) for k, v in merged.items()}, "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}"}

    def start(self, service: str) -> None:
        words = self.services[service]["command"] or read_last_stage(service).command()
        command = [word for word in words if word not in {"/usr/bin/tini", "--"}]
        with (self.folder / f"{service}.log").open("w", encoding="utf-8") as log:
            self.running[service] = subprocess.Popen(
                command, env=self.environment(service), cwd=self.folder, stdout=log, stderr=log, text=True
            )

    def log(self, service: str) -> str:
        return (self.folder / f"{service}.log").read_text(encoding="utf-8")

    def await_healthy(self, service: str) -> None:
        """Run the health check of the compose file until it succeeds."""
        deadline = time.monotonic() + _HEALTHY_WITHIN_S
        command = [self.replace(word) for word in self.services[service]["healthcheck"]["test"][1:]]
        environment = self.environment(service)
        while subprocess.run(command, env=environment, cwd=self.folder, capture_output=True, check=False).returncode:
            assert self.running[service].poll() is None, self.log(service)
            assert time.monotonic() < deadline, f"{service} is not healthy"
            time.sleep(0.3)

    def run_command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command, environment = [COMMAND, *arguments], self.environment(COMMAND)
        return subprocess.run(
            command, env=environment, cwd=self.folder, capture_output=True, text=True, check=False, timeout=60
        )

    def stop(self, service: str) -> int:
        """Stop a service as Docker does, within its grace period, and return the exit code."""
        self.running[service].send_signal(getattr(signal, read_last_stage(service).instructions["STOPSIGNAL"]))
        return self.running[service].wait(float(self.services[service]["stop_grace_period"].removesuffix("s")))

    def issue_token(self, role: str, sub: str) -> str:
        issued = self.run_command("token", "--role", role, "--sub", sub)
        assert (issued.returncode, issued.stderr, issued.stdout.count("\n")) == (0, "", 1)
        return issued.stdout.strip()


@contextmanager
def run_services(services: Mapping[str, Any], folder: Path) -> Iterator[tuple[ComposeProcesses, Parties]]:
    port_base, data = free_ports(len(SERVICES)), folder / "data"
    data.mkdir(mode=0o700, exist_ok=True)
    urls = {f"{service}:{port_of(service)}": f"127.0.0.1:{port_base + at}" for at, service in enumerate(SERVICES)}
    replacements = {**urls, "/data": f"{data}", "0.0.0.0": "127.0.0.1"}  # noqa: S104 it is replaced
    suite = ComposeProcesses(services, replacements, port_base, folder)
    with ExitStack() as stack:
        for service in SERVICES:
            suite.start(service)
            stack.callback(suite.running[service].wait)
            stack.callback(suite.running[service].kill)
        for service in SERVICES:
            suite.await_healthy(service)
        client = stack.enter_context(httpx.Client(timeout=ANSWER_S, trust_env=False))
        live = Live(RunningSuite(suite.running["work-publisher"], port_base), data, client, EMBEDDED)
        yield suite, Parties(**{role: Caller(live, sub, suite.issue_token(role, sub)) for role, sub in ROLES.items()})
