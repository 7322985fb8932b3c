"""Files with both clients: sent from their beginning each time, and received whole or not at all."""

from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from aex_client import AnswerNotUnderstood, ConnectionFailed, Endpoints, NotFound, Service
from aex_models.canonical import sha256_hex
from aex_models.contract import UploadedArtifact
from tests.libs.client.platform import Both, served, stream

CONTENT = bytes(range(256)) * 1_200
NAME = sha256_hex(CONTENT)
UPLOADED = UploadedArtifact(sha256=NAME, size=len(CONTENT))


@dataclass(slots=True)
class Files:
    script: list[int | bytes | tuple[bytes, str]] = field(default_factory=list)
    came: list[tuple[bytes, dict[str, str]]] = field(default_factory=list)

    async def put(self, request: Request) -> Response:
        content = await request.body()
        self.came.append((content, dict(request.headers)))
        if self.script:
            return self._printed()
        return JSONResponse({"sha256": sha256_hex(content), "size": len(content)}, 201)

    async def get(self, request: Request) -> Response:
        self.came.append((request.path_params["sha256"].encode(), dict(request.headers)))
        return self._printed()

    def _printed(self) -> Response:
        answer = self.script.pop(0)
        if isinstance(answer, int):
            return JSONResponse({"code": "as_told", "detail": "as told"}, answer)
        complete = answer if isinstance(answer, bytes) else answer[0]
        return StreamingResponse(stream([complete], cut=isinstance(answer, tuple)))

    def app(self) -> Starlette:
        """The application."""
        put = Route("/v1/artifacts", self.put, methods=["PUT"])
        return Starlette(routes=[put, Route("/v1/artifacts/{sha256}", self.get)])


async def carry(both: Both, files: Files, method: str, *args: Any, **named: Any) -> Any:
    """Call one method; the other services have no listener."""
    with served(files) as url:
        urls = dict.fromkeys(Service, "http://127.0.0.1:1") | {named.get("service", Service.VERIFICATION): url}
        return await both.call(Endpoints(*urls.values()), method, *args, **named)


@pytest.fixture(params=["bytes", "path", "text", "file"])
def content(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The same bytes, given in each way."""
    path = tmp_path / "scores.csv"
    path.write_bytes(CONTENT)
    file = BytesIO(b"read before" + CONTENT)
    file.seek(11)
    return {"bytes": CONTENT, "path": path, "text": str(path), "file": file}[request.param]


def names_in(folder: Path) -> list[str]:
    return [place.name for place in folder.iterdir()]


async def test_upload_is_retried_from_its_beginning_under_the_same_key(both: Both, content: Any) -> None:
    files = Files([429, 503])
    assert await carry(both, files, "upload_artifact", content) == UPLOADED
    assert [came for came, _ in files.came] == [CONTENT] * 3
    assert len({headers["idempotency-key"] for _, headers in files.came}) == 1
    assert len(both.pauses) == 2
    headers = files.came[0][1]
    assert (headers["content-type"], headers["content-length"]) == ("application/octet-stream", str(len(CONTENT)))
    assert "transfer-encoding" not in headers


async def test_consumers_data_are_uploaded_to_work_publisher(both: Both) -> None:
    assert await carry(both, Files(), "upload_artifact", CONTENT, service=Service.WORK_PUBLISHER) == UPLOADED


async def test_stream_without_seek_is_refused(both: Both) -> None:
    class Pipe(BytesIO):
        def seekable(self) -> bool:
            return False

    files = Files()
    with pytest.raises(ValueError, match="cannot be sent again"):
        await carry(both, files, "upload_artifact", Pipe(CONTENT))
    assert files.came == []


async def test_aborted_download_is_retried(both: Both, tmp_path: Path) -> None:
    path, file = tmp_path / "got.csv", BytesIO(b"kept")
    file.seek(4)
    for target in (path, file):
        files = Files([503, (CONTENT[:290_000], "cut"), CONTENT])
        assert await carry(both, files, "download_artifact", NAME, target) == len(CONTENT)
        assert len(files.came) == 3
    assert path.read_bytes() == CONTENT
    assert names_in(tmp_path) == [path.name]
    assert file.getvalue() == b"kept" + CONTENT


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ([404], NotFound),
        ([CONTENT[:-1] + b"!"], AnswerNotUnderstood),
        ([(CONTENT[:9], "cut")] * 5, ConnectionFailed),
    ],
)
async def test_failed_download_leaves_its_target_unchanged(
    both: Both, tmp_path: Path, script: list[Any], error: type[Exception]
) -> None:
    path, file = tmp_path / "got.csv", BytesIO(b"kept")
    path.write_text("before")
    file.seek(4)
    for target in (path, file):
        with pytest.raises(error):
            await carry(both, Files(list(script)), "download_artifact", NAME, target)
    assert path.read_text() == "before"
    assert names_in(tmp_path) == [path.name]
    assert file.getvalue() == b"kept"
