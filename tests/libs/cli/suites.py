"""Sample suites for the tests: their specs, free ports, and `aex up` over them as a real process."""

import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from aex_cli.suite.service_spec import ServiceSpec

ROOT = Path(__file__).parents[3]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
TIMEOUT_S = 100.0


def sample_specs(port: int, *samples: str, replicas: int = 1) -> list[ServiceSpec]:
    """Sample services on consecutive ports, named after their module and place."""
    every = [(replica, position) for replica in range(1, replicas + 1) for position in range(len(samples))]
    return [
        ServiceSpec(
            f"{samples[position]}-{position}",
            f"tests.libs.cli.samples.{samples[position]}",
            port + number,
            replica=replica,
        )
        for number, (replica, position) in enumerate(every)
    ]


def free_ports(count: int) -> int:
    chance = random.SystemRandom()
    while True:
        base = chance.randrange(10_000, 32_000)
        if all(_free(base + position) for position in range(count)):
            return base


def _free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def eventually(holds: Callable[[], bool], within_s: float = TIMEOUT_S) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.05)
    return holds()


@dataclass
class RunningSuite:
    """A started `aex up`, its output as it comes, and the processes below it."""

    process: subprocess.Popen[str]
    port: int
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    family: list[psutil.Process] = field(default_factory=list)
    readers: list[threading.Thread] = field(default_factory=list)

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_for_line(self, text: str, lines: list[str], within_s: float = TIMEOUT_S) -> str:
        """Return the first such line of what is printed; fail at once when the process has ended without it."""
        eventually(lambda: any(text in line for line in lines) or self._is_silent(), within_s)
        found = next((line for line in lines if text in line), None)
        assert found, f"no {text!r}; exit code {self.process.poll()}; out: {self.out}, err: {self.err}"
        return found

    def _is_silent(self) -> bool:
        """Return whether the process has ended and all that it printed was read."""
        return self.process.poll() is not None and not any(reader.is_alive() for reader in self.readers)

    def wait_until_ready(self, within_s: float = TIMEOUT_S) -> str:
        """Wait for the ready line; remembers the services' processes."""
        line = self.wait_for_line("ready ", self.out, within_s)
        self.family = self.descendants()
        return line

    def wait_for_processes(self, processes: int) -> None:
        """Wait until so many run, and remember them: workers are started once the services are ready."""

        def there() -> bool:
            self.family = self.descendants()
            return len(self.family) >= processes

        assert eventually(there), f"{processes} processes, not {self.family}"

    def descendants(self) -> list[psutil.Process]:
        return psutil.Process(self.pid).children(recursive=True) if self.process.poll() is None else []

    def wait_for_error(self, text: str) -> str:
        return self.wait_for_line(text, self.err)

    def child(self, position: int) -> psutil.Process:
        """The service that listens on the place's port."""
        expected = str(self.port + position)
        below = psutil.Process(self.pid).children()
        return next(child for child in below if child.environ().get("AEX_PORT") == expected)

    def remaining(self) -> list[psutil.Process]:
        return [each for each in self.family if _runs(each)]

    def has_ended(self) -> bool:
        return eventually(lambda: not self.remaining())

    def wait(self, within_s: float = TIMEOUT_S) -> int:
        return self.process.wait(within_s)


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _collect(stream: Iterable[str], lines: list[str]) -> None:
    for line in stream:
        lines.append(line.rstrip())  # noqa: PERF401 others read the list as it grows


@contextmanager
def aex_up(
    data_dir: Path,
    *samples: str,
    port: int | None = None,
    ready_s: float = TIMEOUT_S,
    stop_s: float = TIMEOUT_S,
    replicas: int = 1,
) -> Iterator[RunningSuite]:
    """`aex up` over sample services; whatever is left of it is killed at the end."""
    base = free_ports(len(samples) * replicas) if port is None else port
    arguments = [*map(str, (data_dir, base, ready_s, stop_s, replicas)), *samples]
    with run_supervised([sys.executable, "-m", "tests.libs.cli.sample_suite", *arguments], ENVIRONMENT, base) as suite:
        yield suite


@contextmanager
def run_supervised(command: Sequence[str], environment: Mapping[str, str], port: int) -> Iterator[RunningSuite]:
    """A command that supervises a suite, running; whatever is left of it is killed at the end."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        suite = RunningSuite(process, port)
        suite.readers = [
            threading.Thread(target=_collect, args=(stream, lines))
            for stream, lines in ((process.stdout, suite.out), (process.stderr, suite.err))
            if stream is not None
        ]
        for reader in suite.readers:
            reader.start()
        try:
            yield suite
        finally:
            suite.family += suite.descendants()
            process.kill()
            for each in suite.remaining():
                with suppress(psutil.NoSuchProcess):  # it may end by itself in between
                    each.kill()
            for reader in suite.readers:
                reader.join()
