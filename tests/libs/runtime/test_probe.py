"""What a container's health check says, of real servers."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from aex_runtime.probe import TIMEOUT_S, main, probe


class Service(BaseHTTPRequestHandler):
    """Alive, and not ready."""

    def do_GET(self) -> None:
        """Answer."""
        alive = self.path == "/healthz"
        self.send_response(200 if alive else 503)
        self.end_headers()
        self.wfile.write(b'{"status":\n"alive"}' if alive else b'{"missing": {"store": "unreachable"}}')

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield str(server.server_port)
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", ""])  # noqa: S104 nothing is bound
def test_a_service_that_answers_is_well_wherever_it_listens(port: str, host: str) -> None:
    assert probe("/healthz", {"AEX_PORT": port, "AEX_HOST": host}) == (True, '/healthz: 200 {"status": "alive"}')


def test_a_service_that_is_not_ready_is_not_and_says_why(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/readyz"], {"AEX_PORT": port}) == 1
    assert capsys.readouterr().out == '/readyz: 503 {"missing": {"store": "unreachable"}}\n'
    assert main([], {"AEX_PORT": port}) == 0, "alive all the same"


def test_nobody_there_is_not_well() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        well, line = probe("/healthz", {"AEX_PORT": str(bound.getsockname()[1])})
    assert (well, "refused" in line) == (False, True)


@pytest.mark.slow
def test_a_service_that_hangs_is_not_waited_for_any_longer_than_the_health_check_waits() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        began = time.monotonic()
        well, line = probe("/healthz", {"AEX_PORT": str(listening.getsockname()[1])})
    assert (well, line) == (False, "/healthz: timed out")
    assert time.monotonic() - began < TIMEOUT_S + 0.9


@pytest.mark.parametrize("port", ["", "http"])
def test_without_a_port_there_is_nothing_to_ask(port: str) -> None:
    assert probe("/healthz", {"AEX_PORT": port}) == (False, "AEX_PORT says no port to ask")


def test_it_starts_without_what_a_service_imports() -> None:
    heavy = "{'pydantic', 'fastapi', 'structlog', 'uvicorn'}"
    code = f"import sys, aex_runtime.probe; sys.exit(bool({heavy} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert ended.returncode == 0
