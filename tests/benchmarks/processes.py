"""Measured processes: started on a free port with a clean environment."""

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
_POLL_S = 0.002
_START_S = 60.0


@dataclass(frozen=True, slots=True)
class Server:
    """A process that answers on a port."""

    process: psutil.Process
    port: int
    ready_s: float
    """Seconds from its start to its first good response."""

    def cpu_s(self) -> float:
        """Return the processor seconds of all its threads."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def serve(
    command: Sequence[str], environment: Mapping[str, str], log: Path, ready_path: str = "/readyz"
) -> Iterator[Server]:
    """Run `python COMMAND` on the port in `AEX_PORT` until the block ends; `log` gets its output."""
    port = free_ports(1)
    variables = clean_environment({**environment, "AEX_PORT": str(port)})
    with log.open("wb") as output:
        begin = time.perf_counter()
        with subprocess.Popen([sys.executable, *command], env=variables, stdout=output, stderr=output) as process:
            try:
                while get_status(port, ready_path) != HTTPStatus.OK:
                    if process.poll() is not None or time.perf_counter() - begin > _START_S:
                        raise RuntimeError(f"{command} did not start: {log.read_text(errors='replace')[-2_000:]}")
                    time.sleep(_POLL_S)
                yield Server(psutil.Process(process.pid), port, time.perf_counter() - begin)
            finally:
                process.terminate()


def get_status(port: int, path: str, timeout_s: float = 10.0) -> int:
    """Return the status of a response, 0 without one."""
    connection = HTTPConnection(HOST, port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
    except OSError:
        return 0
    else:
        return response.status
    finally:
        connection.close()
