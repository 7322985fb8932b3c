"""Files with both clients: sent from their beginning each time, and received whole or not at all."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from aex_client import AexClient, AnswerNotUnderstood, AsyncAexClient, ConnectionFailed, Endpoints, NotFound, Service
from aex_models.artifacts import UploadedArtifact
from aex_models.canonical import sha256_hex
from tests.libs.client.platform import served

CONTENT = bytes(range(256)) * 8_000
NAME = sha256_hex(CONTENT)
UPLOADED = UploadedArtifact(sha256=NAME, size=len(CONTENT))


class Cut(Exception):
    """The connection breaks off."""


@dataclass(slots=True)
class Files:
    """Answers in turn: a status, bytes, or bytes that break off; an upload whose turn has nothing left is taken."""

    script: list[int | bytes | tuple[bytes, str]] = field(default_factory=list)
    came: list[tuple[bytes, dict[str, str]]] = field(default_factory=list)

    async def put(self, request: Request) -> Response:
        content = await request.body()
        self.came.append((content, dict(request.headers)))
        if self.script:
            return self._told()
        return JSONResponse({"sha256": sha256_hex(content), "size": len(content)}, 201)

    async def get(self, request: Request) -> Response:
        self.came.append((request.path_params["sha256"].encode(), dict(request.headers)))
        return self._told()

    def _told(self) -> Response:
        answer = self.script.pop(0)
        if isinstance(answer, int):
            return JSONResponse({"code": "as_told", "detail": "as told"}, answer)
        whole = answer if isinstance(answer, bytes) else answer[0]
        return StreamingResponse(_sent(whole, cut=isinstance(answer, tuple)))

    def app(self) -> Starlette:
        """The application."""
        put = Route("/v1/artifacts", self.put, methods=["PUT"])
        return Starlette(routes=[put, Route("/v1/artifacts/{sha256}", self.get)])


async def _sent(content: bytes, *, cut: bool) -> AsyncIterator[bytes]:
    yield content
    if cut:
        raise Cut


@dataclass
class Carrier:
    """One of the two clients, with what it slept."""

    kind: str
    pauses: list[float] = field(default_factory=list)

    async def run(self, files: Files, method: str, *args: Any, **named: Any) -> Any:
        """Call one method."""
        with served(files) as url:
            endpoints = Endpoints("http://127.0.0.1:1", url, "http://127.0.0.1:1", "http://127.0.0.1:1")
            if named.get("service") is Service.WORK_PUBLISHER:
                endpoints = Endpoints(url, "http://127.0.0.1:1", "http://127.0.0.1:1", "http://127.0.0.1:1")
            if self.kind == "sync":
                return await asyncio.to_thread(self._blocking, endpoints, method, args, named)
            return await self._awaited(endpoints, method, args, named)

    def _blocking(self, endpoints: Endpoints, method: str, args: Any, named: Any) -> Any:
        with AexClient(endpoints, "t", sleep=self.pauses.append) as client:
            call: Callable[..., Any] = getattr(client, method)
            return call(*args, **named)

    async def _awaited(self, endpoints: Endpoints, method: str, args: Any, named: Any) -> Any:
        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)

        async with AsyncAexClient(endpoints, "t", sleep=sleep) as client:
            call: Callable[..., Awaitable[Any]] = getattr(client, method)
            return await call(*args, **named)


@pytest.fixture(params=["sync", "async"])
def carrier(request: pytest.FixtureRequest) -> Carrier:
    return Carrier(request.param)


@pytest.fixture(params=["bytes", "path", "text", "file"])
def content(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The same bytes, given in each way."""
    path = tmp_path / "scores.csv"
    path.write_bytes(CONTENT)
    file = BytesIO(b"read before" + CONTENT)
    file.seek(11)
    return {"bytes": CONTENT, "path": path, "text": str(path), "file": file}[request.param]


def names_in(folder: Path) -> list[str]:
    """What lies in a folder."""
    return [place.name for place in folder.iterdir()]


async def test_a_file_is_sent_as_it_is(carrier: Carrier, content: Any) -> None:
    files = Files()
    assert await carrier.run(files, "upload_artifact", content) == UPLOADED
    ((came, headers),) = files.came
    assert came == CONTENT
    assert headers["content-type"] == "application/octet-stream"
    assert headers["content-length"] == str(len(CONTENT))
    assert "transfer-encoding" not in headers


async def test_it_is_sent_again_from_its_beginning_under_the_same_key(carrier: Carrier, content: Any) -> None:
    files = Files([429, 503])
    assert await carrier.run(files, "upload_artifact", content) == UPLOADED
    assert [came for came, _ in files.came] == [CONTENT] * 3
    assert len({headers["idempotency-key"] for _, headers in files.came}) == 1
    assert len(carrier.pauses) == 2


async def test_a_consumers_data_go_to_the_work_publisher(carrier: Carrier) -> None:
    sent = await carrier.run(Files(), "upload_artifact", CONTENT, service=Service.WORK_PUBLISHER)
    assert sent == UPLOADED


async def test_a_stream_that_cannot_be_rewound_is_not_begun(carrier: Carrier) -> None:
    class Pipe(BytesIO):
        def seekable(self) -> bool:
            return False

    files = Files()
    with pytest.raises(ValueError, match="could not be sent again"):
        await carrier.run(files, "upload_artifact", Pipe(CONTENT))
    assert files.came == []


async def test_a_file_is_received_whole(carrier: Carrier, tmp_path: Path) -> None:
    path, file = tmp_path / "got.csv", BytesIO()
    assert await carrier.run(Files([CONTENT]), "download_artifact", NAME, path) == len(CONTENT)
    assert await carrier.run(Files([CONTENT]), "download_artifact", NAME, file) == len(CONTENT)
    assert path.read_bytes() == file.getvalue() == CONTENT
    assert names_in(tmp_path) == [path.name]


async def test_what_breaks_off_is_asked_for_again(carrier: Carrier, tmp_path: Path) -> None:
    path, file = tmp_path / "got.csv", BytesIO(b"kept")
    file.seek(4)
    for target in (path, file):
        files = Files([503, (CONTENT[:1_000_000], "cut"), CONTENT])
        assert await carrier.run(files, "download_artifact", NAME, target) == len(CONTENT)
        assert len(files.came) == 3
    assert path.read_bytes() == CONTENT
    assert file.getvalue() == b"kept" + CONTENT


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ([404], NotFound),
        ([CONTENT[:-1] + b"!"], AnswerNotUnderstood),
        ([(CONTENT[:9], "cut")] * 5, ConnectionFailed),
    ],
)
async def test_what_does_not_come_leaves_the_path_as_it_was(
    carrier: Carrier, tmp_path: Path, script: list[Any], error: type[Exception]
) -> None:
    path, file = tmp_path / "got.csv", BytesIO(b"kept")
    path.write_text("before")
    file.seek(4)
    for target in (path, file):
        with pytest.raises(error):
            await carrier.run(Files(list(script)), "download_artifact", NAME, target)
    assert path.read_text() == "before"
    assert names_in(tmp_path) == [path.name]
    assert file.getvalue() == b"kept"
