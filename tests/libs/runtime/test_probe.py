import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from aex_runtime.probe import main, probe_service


class Service(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        alive = self.path == "/healthz"
        self.send_response(200 if alive else 503)
        self.end_headers()
        self.wfile.write(b'{"status":\n"alive"}' if alive else b'{"missing": {"store": "unreachable"}}')

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture
def port() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield str(server.server_port)
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", ""])  # noqa: S104 nothing is bound
def test_answering_service_is_healthy(port: str, host: str) -> None:
    assert probe_service("/healthz", {"AEX_PORT": port, "AEX_HOST": host}) == (
        True,
        '/healthz: 200 {"status": "alive"}',
    )


def test_unready_service_prints_the_reason(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/readyz"], {"AEX_PORT": port}) == 1
    assert capsys.readouterr().out == '/readyz: 503 {"missing": {"store": "unreachable"}}\n'
    assert main([], {"AEX_PORT": port}) == 0


def test_absent_service_is_unhealthy() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        well, line = probe_service("/healthz", {"AEX_PORT": str(bound.getsockname()[1])})
    assert (well, "refused" in line) == (False, True)


@pytest.mark.slow
def test_hanging_service_is_unhealthy_in_time() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        well, line = probe_service("/healthz", {"AEX_PORT": str(listening.getsockname()[1])})
    assert (well, line) == (False, "/healthz: timed out")


@pytest.mark.parametrize("port", ["", "http"])
def test_missing_port_is_reported(port: str) -> None:
    assert probe_service("/healthz", {"AEX_PORT": port}) == (
        False,
        "AEX_PORT is no port number; set it to the service's port",
    )
