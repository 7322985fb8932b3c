"""The compose file's services as plain processes: its environment and commands, its order and its health checks.

There is no container: what is a name or a folder of one is mapped to this machine. That a container starts, and stays
within its bounds, is not shown by this.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.deploy.compose.composed import EMULATORS, TOOL, environment_of, start_order
from tests.deploy.declared import SERVICES, port_of
from tests.deploy.images.dockerfile import Stage, path_of, read
from tests.emulators.emulators import Emulators, new_project
from tests.libs.cli.suites import free_ports

_BIN = Path(sys.executable).parent
_ASK_AGAIN_S = 0.3
_HEALTHY_WITHIN_S = 150.0
PROJECT = "aex-local"


def image_of(service: str) -> Stage:
    """What the service's image says of itself."""
    return read(path_of("aex-cli" if service == TOOL else service).read_text(encoding="utf-8")).final


@dataclass(frozen=True, slots=True)
class Places:
    """Where things of the containers are on this machine: text → text, longest first."""

    known: Mapping[str, str]

    def here(self, text: str) -> str:
        """The text, with every place of a container replaced."""
        for there in sorted(self.known, key=len, reverse=True):
            text = text.replace(there, self.known[there])
        return text


def places_for(emulators: Emulators, data: Path, config: Path, port_base: int) -> Places:
    """The emulators that run here in a project of their own, four free ports, two folders."""
    ports = {service: port_base + place for place, service in enumerate(SERVICES)}
    return Places(
        {
            **{f"{service}:{port_of(service)}": f"127.0.0.1:{port}" for service, port in ports.items()},
            "firestore:8080": emulators.firestore.host,
            "pubsub:8085": emulators.pubsub.host,
            "127.0.0.1:8080": emulators.firestore.host,
            "127.0.0.1:8085": emulators.pubsub.host,
            PROJECT: new_project(),
            "/data": f"{data}",
            "/config": f"{config}",
            "0.0.0.0": "127.0.0.1",  # noqa: S104 never: it is replaced
        }
    )


@dataclass
class Composed:
    """The services of a compose file, and those that run."""

    services: Mapping[str, Any]
    places: Places
    port_base: int
    folder: Path
    running: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    started: list[str] = field(default_factory=list)

    def environment(self, service: str) -> dict[str, str]:
        """All that the container would find: what its image sets, and over it what the compose file does."""
        ours = {name: value for name, value in image_of(service).environment.items() if name != "PATH"}
        if service in SERVICES:
            ours["AEX_PORT"] = str(self.port_base + SERVICES.index(service))
        given = {**ours, **environment_of(self.services[service])}
        return {"PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}", **{k: self.places.here(v) for k, v in given.items()}}

    def command(self, service: str) -> list[str]:
        """What the container would run; without tini, which a process of a machine does not need."""
        words = self.services[service]["command"] or image_of(service).command
        return [*words[words.index("--") + 1 :]] if words[0].endswith("/tini") else list(words)

    def start(self, service: str) -> subprocess.Popen[str]:
        """The service as a process that logs into its file."""
        with (self.folder / f"{service}.log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                self.command(service), env=self.environment(service), cwd=self.folder, stdout=log, stderr=log, text=True
            )
        self.running[service] = process
        return process

    def log(self, service: str) -> str:
        """What it has said so far."""
        return (self.folder / f"{service}.log").read_text(encoding="utf-8")

    def await_healthy(self, service: str) -> None:
        """Run the health check of the compose file until it says yes."""
        deadline = time.monotonic() + _HEALTHY_WITHIN_S
        kind, *command = [self.places.here(word) for word in self.services[service]["healthcheck"]["test"]]
        assert kind == "CMD"
        environment = self.environment(service) if service in SERVICES else {"PATH": os.environ["PATH"]}
        while subprocess.run(command, env=environment, cwd=self.folder, capture_output=True, check=False).returncode:
            ended = service in self.running and self.running[service].poll() is not None
            assert not ended, f"{service} has ended: {self.log(service)}"
            assert time.monotonic() < deadline, f"{service} is not healthy: {self.log(service)}"
            time.sleep(_ASK_AGAIN_S)

    def tool(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`docker compose run --rm aex ARGUMENTS`."""
        command = [*image_of(TOOL).of("ENTRYPOINT")[-1].words, *arguments]
        return subprocess.run(
            command,
            env=self.environment(TOOL),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def stop(self, service: str) -> int:
        """Stop it as Docker does, within the time that it is given; its exit code."""
        stop_signal = image_of(service).last("STOPSIGNAL").rest
        self.running[service].send_signal(getattr(signal, stop_signal))
        return self.running[service].wait(float(self.services[service]["stop_grace_period"].removesuffix("s")))


@contextmanager
def running(services: Mapping[str, Any], emulators: Emulators, folder: Path) -> Iterator[Composed]:
    """All of them, each started once those that it waits for are healthy; killed at the end if need be."""
    data, config, port_base = folder / "data", folder / "config", free_ports(len(SERVICES))
    data.mkdir(mode=0o700)
    config.mkdir()
    suite = Composed(services, places_for(emulators, data, config, port_base), port_base, folder)
    with ExitStack() as stack:
        for service in start_order({name: each for name, each in services.items() if name != TOOL}):
            for other in services[service].get("depends_on", {}):
                suite.await_healthy(other)
            if service not in EMULATORS:  # these run already
                process = suite.start(service)
                stack.callback(_end, process)
            suite.started.append(service)
        for service in SERVICES:
            suite.await_healthy(service)
        yield suite


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
