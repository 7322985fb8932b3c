"""Processes that are measured: started on a free port with a clean environment, and asked until they answer."""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path

import psutil

from tests.e2e.live import clean_environment
from tests.libs.cli.suites import free_ports

HOST = "127.0.0.1"
_AGAIN_S = 0.002
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Running:
    """A process that answers on a port."""

    process: subprocess.Popen[bytes]
    port: int
    ready_s: float
    """From its start to its first good answer."""

    def cpu_s(self) -> float:
        """Seconds of the processor that it has used so far, in all its threads."""
        used = psutil.Process(self.process.pid).cpu_times()
        return float(used.user + used.system)


@contextmanager
def running(
    command: Sequence[str], environment: Mapping[str, str], log: Path, ready: str = "/readyz"
) -> Iterator[Running]:
    """`python COMMAND`, from the moment it answers until the block ends; `AEX_PORT` is its port, `log` its output."""
    port = free_ports(1)
    variables = clean_environment({**environment, "AEX_PORT": str(port)})
    with log.open("wb") as output:
        begin = time.perf_counter()
        with subprocess.Popen([sys.executable, *command], env=variables, stdout=output, stderr=output) as process:
            try:
                _await(process, port, ready, log)
                yield Running(process, port, time.perf_counter() - begin)
            finally:
                process.terminate()


def _await(process: subprocess.Popen[bytes], port: int, path: str, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while ask(port, path) != HTTPStatus.OK:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} does not answer: {log.read_text(errors='replace')[-2_000:]}")
        time.sleep(_AGAIN_S)


def ask(port: int, path: str, timeout_s: float = 10.0) -> int:
    """The status of the answer, 0 where none comes. No client that costs more than what it asks."""
    connection = HTTPConnection(HOST, port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
    except OSError:
        return 0
    else:
        return answer.status
    finally:
        connection.close()
