"""`aex outcomes export`, against a server that answers as verification does, or breaks off."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import jwt
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from aex_cli.main import run_command_line
from aex_cli.report import write_atomically
from aex_runtime.commandline import CommandFailed, UserError
from tests.libs.client.platform import served, stream

LINES = b'{"run_id":"out_1","n":1.10}\n{"run_id":"out_2","n":2}\n'


@dataclass(slots=True)
class Exports:
    """Answers with its lines; `cut`: and breaks off behind them."""

    lines: bytes = LINES
    cut: bool = False
    refusal: int | None = None
    requests: list[dict[str, str]] = field(default_factory=list)

    async def export(self, request: Request) -> Response:
        self.requests.append(
            {"token": request.headers["authorization"].removeprefix("Bearer "), **request.query_params}
        )
        if self.refusal:
            return JSONResponse({"code": "forbidden", "detail": "not for this role"}, self.refusal)
        return StreamingResponse(stream([self.lines], cut=self.cut), media_type="application/x-ndjson")

    def app(self) -> Starlette:
        """The application."""
        return Starlette(routes=[Route("/v1/outcomes/export", self.export)])


@contextmanager
def running(exports: Exports) -> Iterator[list[str]]:
    """The beginning of a command line that asks it."""
    with served(exports) as url:
        yield ["outcomes", "export", "--url", url, "--token", "t"]


def test_file_has_the_exported_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exports, out = Exports(), tmp_path / "rollouts.jsonl"
    with running(exports) as command:
        assert run_command_line([*command, "--format", "rollouts", "--out", str(out)]) == 0
    assert out.read_bytes() == LINES
    assert capsys.readouterr().out == f"2 rollouts written to {out}\n"
    assert exports.requests == [{"token": "t", "format": "rollouts"}]
    assert list(tmp_path.iterdir()) == [out]


def test_stdout_has_only_the_lines(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with running(Exports()) as command:
        assert run_command_line(command) == 0
    printed = capfdbinary.readouterr()
    assert printed.out == LINES
    assert printed.err == b"aex: 2 outcomes\n"


def test_filters_are_query_parameters(tmp_path: Path) -> None:
    exports = Exports(b"")
    with running(exports) as command:
        filters = ["--agent", "bot", "--consumer", "acme", "--domain", "news", "--from", "2025-01-01"]
        assert run_command_line([*command, *filters, "--to", "2025-01-31", "--out", str(tmp_path / "none.jsonl")]) == 0
    names = {"agent_id": "bot", "consumer_id": "acme", "domain": "news", "from": "2025-01-01", "to": "2025-01-31"}
    assert exports.requests == [{"token": "t", "format": "jsonl", **names}]
    assert (tmp_path / "none.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("exports", "to_file", "printed"),
    [
        (Exports(cut=True), True, "nothing was exported"),
        (Exports(cut=True), False, "the export is incomplete"),
        (Exports(refusal=403), True, "403 forbidden: not for this role"),
    ],
)
def test_failed_export_leaves_the_file_unchanged(
    exports: Exports, to_file: bool, printed: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "outcomes.jsonl"
    out.write_text("yesterday's\n")
    with running(exports) as command:
        assert run_command_line([*command, *(["--out", str(out)] if to_file else [])]) == 1
    assert printed in capfd.readouterr().err
    assert out.read_text() == "yesterday's\n"
    assert list(tmp_path.iterdir()) == [out]


def test_export_uses_an_operator_token_of_the_data_directory(tmp_path: Path) -> None:
    exports = Exports()
    with served(exports) as url:
        command = ["outcomes", "export", "--url", url, "--data-dir", str(tmp_path)]
        assert run_command_line([*command, "--out", str(tmp_path / "outcomes.jsonl")]) == 0
    keys = jwt.PyJWKSet.from_dict(json.loads(next((tmp_path / "keys").glob("*.jwks.json")).read_text()))
    claims = jwt.decode(exports.requests[0]["token"], keys.keys[0], algorithms=["EdDSA"], audience="verification")
    assert claims["role"] == "operator"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--data-dir", "nowhere"], "there is no data directory nowhere"),
        (["--format", "csv"], "csv"),
        (["--token", "t", "--out", "."], "is a folder"),
        (["--token", "t", "--out", "no/such/folder/x.jsonl"], "cannot be written"),
    ],
)
def test_bad_arguments_are_named(
    arguments: list[str],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with served(Exports()) as url:
        assert run_command_line(["outcomes", "export", "--url", url, *arguments]) == 2
    assert named in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_failed_write_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with pytest.raises(CommandFailed, match="No space left"), write_atomically(path):
        raise OSError(28, "No space left on device")
    with pytest.raises(UserError, match="is a folder"), write_atomically(tmp_path):
        pass
    assert not list(tmp_path.iterdir())
