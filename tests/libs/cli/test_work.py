"""`aex work publish`, against a server that answers as work-publisher does."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from aex_cli.main import run_command_line
from tests.libs.client.platform import served


@dataclass(slots=True)
class Publisher:
    """A work-publisher that keeps works by their idempotency key and refuses titles `bad`."""

    refusal: int | None = None
    busy: int = 0
    """Number of requests that are answered with 503."""
    by_key: dict[str, str] = field(default_factory=dict)
    requests: int = 0

    async def publish(self, request: Request) -> Response:
        self.requests += 1
        if self.requests <= self.busy:
            return JSONResponse({"code": "busy", "detail": "busy"}, 503, {"Retry-After": "0"})
        if self.refusal:
            return JSONResponse({"code": "refused", "detail": "not for this caller"}, self.refusal)
        body = await request.json()
        if body["title"] == "bad":
            errors = [{"path": "/title", "code": "bad_title", "message": "Not this title"}]
            return JSONResponse({"code": "invalid", "detail": "invalid", "errors": errors}, 400)
        work_id = self.by_key.setdefault(request.headers["idempotency-key"], f"work_{len(self.by_key) + 1}")
        total = {"base": "0", "bonus": "0", "penalty": "0", "total": "0", "success": True}
        quote = {"currency": "USD", "minimum": total, "maximum": total}
        stored = {"work_id": work_id, "consumer_id": "c", "domain": "general", "status": "open", "quote": quote}
        return JSONResponse({**body, **stored, "created_at": "2025-01-01T00:00:00Z"}, 201)

    def app(self) -> Starlette:
        """The application."""
        return Starlette(routes=[Route("/v1/work", self.publish, methods=["POST"])])


@contextmanager
def running(publisher: Publisher) -> Iterator[list[str]]:
    """The beginning of a command line that asks it."""
    with served(publisher) as url:
        yield ["work", "publish", "--url", url, "--token", "t"]


def work(title: str) -> dict[str, Any]:
    return {"title": title, "budget": {"max_cpc": "0.10"}}


def write(path: Path, *works: Any) -> str:
    path.write_text("".join(f"{json.dumps(each)}\n" for each in works))
    return str(path)


def test_works_of_all_files_are_published_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [write(tmp_path / "works.jsonl", work("a"), work("b")), write(tmp_path / "one.json", work("c"))]
    with running(Publisher()) as command:
        assert run_command_line([*command, *files]) == 0
    assert capsys.readouterr().out.split() == ["work_1", "work_2", "work_3"]


def test_a_second_run_creates_only_new_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publisher, path = Publisher(), tmp_path / "works.jsonl"
    with running(publisher) as command:
        assert run_command_line([*command, write(path, work("a"), work("b"))]) == 0
        reordered = {"budget": {"max_cpc": "0.10"}, "title": "a", "warnings": []}
        assert run_command_line([*command, write(path, reordered, work("c"))]) == 0
    assert capsys.readouterr().out.split() == ["work_1", "work_2", "work_1", "work_3"]
    assert len(publisher.by_key) == 3


def test_a_refused_work_stops_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "works.jsonl", work("a"), work("bad"), work("c"))
    with running(Publisher()) as command:
        assert run_command_line([*command, file]) == 1
    captured = capsys.readouterr()
    assert captured.out.split() == ["work_1", "work_2"]
    assert captured.err.splitlines() == [
        f"aex: {file} line 2: /title: Not this title (bad_title)",
        "aex: 1 of 3 works were refused",
    ]


def test_a_refused_token_stops_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publisher = Publisher(refusal=403)
    with running(publisher) as command:
        assert run_command_line([*command, write(tmp_path / "works.jsonl", work("a"), work("b"))]) == 1
    assert publisher.requests == 1
    assert "stopped after 0 of 2 works" in capsys.readouterr().err


def test_a_retried_call_prints_nothing_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(Publisher(busy=1)) as command:
        assert run_command_line([*command, write(tmp_path / "works.jsonl", work("a"))]) == 0
    assert capsys.readouterr().out == "work_1\n"


def test_files_are_read_before_anything_is_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publisher, bad = Publisher(), tmp_path / "bad.jsonl"
    bad.write_text('{"title": "a"}\nno json\n')
    with running(publisher) as command:
        good = write(tmp_path / "works.jsonl", work("a"))
        assert run_command_line([*command, good, str(bad)]) == 2
        assert run_command_line([*command, good, str(tmp_path / "none.json")]) == 2
        assert run_command_line([*command, good, write(tmp_path / "list.json", [1])]) == 2
    assert publisher.requests == 0
    assert "bad.jsonl line 2" in capsys.readouterr().err


def test_a_consumer_or_a_token_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["work", "publish", write(tmp_path / "w.json", work("a"))]) == 2
    assert "--consumer" in capsys.readouterr().err
