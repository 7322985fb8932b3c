import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.libs.cli.suites import free_ports
from tests.libs.runtime.process.sample import HANGS, LOSES

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[4]
TIMEOUT_S = 100


@dataclass
class Served:
    process: subprocess.Popen[str]
    port: int
    pipe: int

    def until_ready(self) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                httpx.get(f"http://127.0.0.1:{self.port}/readyz", trust_env=False).raise_for_status()
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return
        pytest.fail("never ready")

    def close_pipe(self) -> None:
        os.close(self.pipe)
        self.pipe = -1

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, out, err


@contextmanager
def served(**environment: str) -> Iterator[Served]:
    port = free_ports(1)
    read_end, write_end = os.pipe()
    fixed = {"PYTHONPATH": str(ROOT), "AEX_PORT": str(port), "AEX_PARENT_FD": str(read_end)}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.libs.runtime.process.sample"],
        env={**os.environ, **fixed, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=(read_end,),
    ) as process:
        os.close(read_end)
        running = Served(process, port, write_end)
        try:
            yield running
        finally:
            process.kill()
            if running.pipe >= 0:
                running.close_pipe()


def test_service_ends_with_its_parent_during_a_hanging_start() -> None:
    with served(**{HANGS: "at the start"}) as service:
        assert service.process.stderr is not None
        assert service.process.stderr.readline() == "hangs now\n"
        service.close_pipe()
        code, _, err = service.ended()
        assert (code, err) == (0, "")


def test_service_without_a_vital_part_ends_with_3() -> None:
    with served(**{LOSES: "no worker can be started"}) as service:
        code, out, err = service.ended()
        assert (code, out) == (3, "")
        ends = [line for line in map(json.loads, err.splitlines()) if line["event"] == "service_ends"]
        assert [(line["lost"], line["level"]) for line in ends] == [
            ({"workers": "no worker can be started"}, "critical")
        ]


def test_event_streams_end_at_once_at_a_stop() -> None:
    with served() as service:
        service.until_ready()
        url = f"http://127.0.0.1:{service.port}/events"
        with httpx.Client(trust_env=False) as client, client.stream("GET", url, timeout=TIMEOUT_S) as answer:
            pieces = answer.iter_bytes()
            assert next(pieces) == b": begins\n\n"
            service.process.send_signal(signal.SIGTERM)
            assert list(pieces) == []  # to its proper end: the drain would cut it after a second
        code, out, err = service.ended()
        assert (code, out) == (0, "")
        assert {json.loads(line)["service"] for line in err.splitlines()} == {"tests"}
        assert "Cancel" not in err


def test_hanging_stop_ends_with_the_stacks_of_all_threads() -> None:
    with served(**{HANGS: "at the end"}) as service:
        service.until_ready()
        service.close_pipe()
        code, _, err = service.ended()
        assert code == 1
        assert "in _lifespan" in err


def test_wrong_configuration_is_one_line_without_secrets() -> None:
    with served(AEX_STORE_URL="mysql://root:hunter2@db/x") as service:
        code, out, err = service.ended()
        assert (code, out) == (2, "")
        assert "AEX_STORE_URL" in err
        assert "sqlite://" in err
        assert err.count("\n") == 1
        assert "hunter2" not in err


def test_used_port_ends_the_service_with_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with served(AEX_PORT=str(port)) as service:
            code, _, err = service.ended()
            assert code not in {0, None}
            assert "address already in use" in err
