"""`aex outcomes export`, against a server that answers as verification does, or breaks off."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import jwt
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from aex_cli.commands.outcomes import Format
from aex_cli.main import call
from aex_cli.whole_file import written_whole
from aex_runtime.commandline.errors import Failed, UserError
from tests.libs.client.platform import served

LINES = b'{"run_id":"out_1","n":1.10}\n{"run_id":"out_2","n":2}\n'


class Cut(Exception):
    """The connection breaks off."""


@dataclass(slots=True)
class Exports:
    """Answers with its lines; `cut`: and breaks off behind them."""

    lines: bytes = LINES
    cut: bool = False
    refusal: int | None = None
    asked: list[dict[str, str]] = field(default_factory=list)

    async def export(self, request: Request) -> Response:
        self.asked.append({"token": request.headers["authorization"].removeprefix("Bearer "), **request.query_params})
        if self.refusal:
            return JSONResponse({"code": "forbidden", "detail": "not for this role"}, self.refusal)
        return StreamingResponse(self._sent(), media_type="application/x-ndjson")

    async def _sent(self) -> AsyncIterator[bytes]:
        if self.lines:
            yield self.lines
        if self.cut:
            raise Cut

    def app(self) -> Starlette:
        """The application."""
        return Starlette(routes=[Route("/v1/outcomes/export", self.export)])


@contextmanager
def running(exports: Exports) -> Iterator[list[str]]:
    """The beginning of a command line that asks it."""
    with served(exports) as url:
        yield ["outcomes", "export", "--url", url, "--token", "t"]


def test_a_file_holds_the_lines_as_they_came(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exports, out = Exports(), tmp_path / "rollouts.jsonl"
    with running(exports) as command:
        assert call([*command, "--format", "rollouts", "--out", str(out)]) == 0
    assert out.read_bytes() == LINES
    assert capsys.readouterr().out == f"2 rollouts written to {out}\n"
    assert exports.asked == [{"token": "t", "format": "rollouts"}]
    assert list(tmp_path.iterdir()) == [out]


def test_without_a_file_stdout_holds_the_lines_alone(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with running(Exports()) as command:
        assert call(command) == 0
    printed = capfdbinary.readouterr()
    assert printed.out == LINES
    assert printed.err == b"aex: 2 outcomes\n"


def test_filters_are_asked_for(tmp_path: Path) -> None:
    exports = Exports(b"")
    with running(exports) as command:
        filters = ["--agent", "bot", "--consumer", "acme", "--domain", "news", "--from", "2025-01-01"]
        assert call([*command, *filters, "--to", "2025-01-31", "--out", str(tmp_path / "none.jsonl")]) == 0
    names = {"agent_id": "bot", "consumer_id": "acme", "domain": "news", "from": "2025-01-01", "to": "2025-01-31"}
    assert exports.asked == [{"token": "t", "format": "jsonl", **names}]
    assert (tmp_path / "none.jsonl").read_bytes() == b""


def test_what_breaks_off_leaves_the_file_that_was_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "outcomes.jsonl"
    out.write_text("yesterday's\n")
    with running(Exports(cut=True)) as command:
        assert call([*command, "--out", str(out)]) == 1
    assert "nothing was exported" in capsys.readouterr().err
    assert out.read_text() == "yesterday's\n"
    assert list(tmp_path.iterdir()) == [out]


def test_what_breaks_off_on_stdout_says_that_it_is_not_all(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with running(Exports(cut=True)) as command:
        assert call(command) == 1
    assert b"what came is not all" in capfdbinary.readouterr().err


def test_a_refusal_is_told_in_the_services_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(Exports(refusal=403)) as command:
        assert call([*command, "--out", str(tmp_path / "x.jsonl")]) == 1
    assert "403 forbidden: not for this role" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_whoever_may_read_the_suites_key_exports_as_an_operator(tmp_path: Path) -> None:
    exports = Exports()
    with served(exports) as url:
        command = ["outcomes", "export", "--url", url, "--data-dir", str(tmp_path)]
        assert call([*command, "--out", str(tmp_path / "outcomes.jsonl")]) == 0
    keys = jwt.PyJWKSet.from_dict(json.loads(next((tmp_path / "keys").glob("*.jwks.json")).read_text()))
    claims = jwt.decode(exports.asked[0]["token"], keys.keys[0], algorithms=["EdDSA"], audience="verification")
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
def test_mistakes_are_named(
    arguments: list[str],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with served(Exports()) as url:
        assert call(["outcomes", "export", "--url", url, *arguments]) == 2
    assert named in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_finished_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with pytest.raises(Failed, match="No space left"), written_whole(path):
        raise OSError(28, "No space left on device")
    with pytest.raises(UserError, match="is a folder"), written_whole(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_the_formats_are_the_services() -> None:
    assert [each.value for each in Format] == ["jsonl", "rollouts"]
