"""An emulator as a process of this machine: start, pause, stop."""

import random
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.emulators.java import JavaProcess

_START_S = 180.0
_ANSWER_S = 5.0
_POLL_S = 0.05
_ATTEMPTS = 5
_PORTS = range(20_000, 32_000)
"""Ports below the client range of Linux: a stopped emulator finds its port free again."""


SHORT_LIVED = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Options of every JVM here.

The second compiler pays off after many minutes. Without it the tests on the emulators take a quarter less of the
processor."""


class EmulatorFailed(Exception):
    """The error for an emulator that does not start or answer. The message names its log."""


@dataclass(frozen=True, slots=True)
class Program:
    """The command of an emulator without its address, and a path that it answers once started."""

    name: str
    command: Sequence[str]
    probe: str


class Emulator:
    """A running emulator that another process may have started. It keeps its data in memory."""

    def __init__(self, port: int, pid: int) -> None:
        self._port, self._pid = port, pid

    @property
    def host(self) -> str:
        """Return `127.0.0.1:port`."""
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """Return the id of the Java process."""
        return self._pid


class OwnEmulator(Emulator):
    """An emulator that this process started. Starting and stopping it block for seconds."""

    def __init__(self, program: Program, logs: Path) -> None:
        """Start it on a free port.

        Raises `EmulatorFailed`.
        """
        self._program = program
        self._log = logs / f"{program.name}.log"
        for attempt in range(_ATTEMPTS):
            self._port = _free_port()
            try:
                self._process = self._started()
            except EmulatorFailed:
                # Another program may have taken the port in the meantime: what else fails, fails again.
                if attempt == _ATTEMPTS - 1 or "already in use" not in self._log.read_text(errors="replace"):
                    raise
            else:
                return

    @property
    def pid(self) -> int:
        """Return the id of the Java process."""
        return self._process.pid

    def to_attachable(self) -> Emulator:
        """Return the emulator without control of its process, for other processes of this machine."""
        return Emulator(self._port, self.pid)

    def pause(self) -> None:
        """Suspend the process. Its port still accepts connections, but nothing is answered."""
        self._process.suspend()

    def resume(self) -> None:
        """Continue the suspended process, which then answers the waiting requests."""
        self._process.send(signal.SIGCONT)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the emulator during the block."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def stop(self) -> None:
        """End the process. Connections are then refused."""
        self._process.end()

    def kill(self) -> None:
        """End the process by SIGKILL."""
        self._process.kill()

    def start(self) -> None:
        """Start the stopped emulator again, on the same port and without data.

        Raises `EmulatorFailed`.
        """
        self._process = self._started()

    def restart(self) -> None:
        """Stop the emulator and start it again, on the same port and without data.

        Raises `EmulatorFailed`.
        """
        self.stop()
        self.start()

    def _started(self) -> JavaProcess:
        command = [*self._program.command, "--host=127.0.0.1", f"--port={self._port}"]
        process = JavaProcess(command, self._log)
        try:
            self._wait_for_answer(process)
        except BaseException:
            process.kill()
            raise
        return process

    def _wait_for_answer(self, process: JavaProcess) -> None:
        end = time.monotonic() + _START_S
        # No proxies: the environment's may not know the way to loopback.
        with httpx.Client(trust_env=False, timeout=_ANSWER_S) as http:
            while not self._answers(http):
                if process.ended():
                    raise EmulatorFailed(f"the {self._program.name} emulator ended at its start: see {self._log}")
                if time.monotonic() > end:
                    raise EmulatorFailed(f"the {self._program.name} emulator does not answer: see {self._log}")
                time.sleep(_POLL_S)

    def _answers(self, http: httpx.Client) -> bool:
        try:
            return http.get(f"http://{self.host}{self._program.probe}").is_success
        except httpx.TransportError:
            return False


def _free_port() -> int:
    """Return an unused port."""
    for port in random.sample(_PORTS, 50):
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise EmulatorFailed(f"no free port in {_PORTS.start} to {_PORTS.stop - 1}")
