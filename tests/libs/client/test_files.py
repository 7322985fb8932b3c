"""Files with both clients: sent from their beginning each time, and received whole or not at all."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from aex_client import AnswerNotUnderstood, ConnectionFailed, Endpoints, NotFound, Service
from aex_models.canonical import sha256_hex
from aex_models.contract import UploadedArtifact
from tests.libs.client.platform import Both, served
from tests.libs.client.streams import Connection, Script

CONTENT = bytes(range(256)) * 1_200
NAME = sha256_hex(CONTENT)
UPLOADED = UploadedArtifact(sha256=NAME, size=len(CONTENT))


TAKEN = Connection((json.dumps({"sha256": NAME, "size": len(CONTENT)}),), status=201, media_type="application/json")


async def carry(both: Both, script: Script, method: str, *args: Any, **named: Any) -> Any:
    """Call one method; the other services have no listener."""
    with served(script) as url:
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
    script = Script([Connection(status=429), Connection(status=503), TAKEN])
    assert await carry(both, script, "upload_artifact", content) == UPLOADED
    assert script.bodies == [CONTENT] * 3
    assert len({headers["idempotency-key"] for headers in script.requested}) == 1
    assert len(both.pauses) == 2
    headers = script.requested[0]
    assert (headers["content-type"], headers["content-length"]) == ("application/octet-stream", str(len(CONTENT)))
    assert "transfer-encoding" not in headers


async def test_consumers_data_are_uploaded_to_work_publisher(both: Both) -> None:
    assert await carry(both, Script([TAKEN]), "upload_artifact", CONTENT, service=Service.WORK_PUBLISHER) == UPLOADED


async def test_stream_without_seek_is_refused(both: Both) -> None:
    class Pipe(BytesIO):
        def seekable(self) -> bool:
            return False

    with pytest.raises(ValueError, match="cannot be sent again"):
        await carry(both, Script([]), "upload_artifact", Pipe(CONTENT))


async def test_aborted_download_is_retried(both: Both, tmp_path: Path) -> None:
    path, file = tmp_path / "got.csv", BytesIO(b"kept")
    file.seek(4)
    for target in (path, file):
        broken = Connection((CONTENT[:290_000],), broken=True)
        script = Script([Connection(status=503), broken, Connection((CONTENT,))])
        assert await carry(both, script, "download_artifact", NAME, target) == len(CONTENT)
        assert len(script.requested) == 3
    assert path.read_bytes() == CONTENT
    assert names_in(tmp_path) == [path.name]
    assert file.getvalue() == b"kept" + CONTENT


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ([Connection(status=404)], NotFound),
        ([Connection((CONTENT[:-1] + b"!",))], AnswerNotUnderstood),
        ([Connection((CONTENT[:9],), broken=True)] * 5, ConnectionFailed),
    ],
)
async def test_failed_download_leaves_its_target_unchanged(
    both: Both, tmp_path: Path, script: list[Connection], error: type[Exception]
) -> None:
    path, file = tmp_path / "got.csv", BytesIO(b"kept")
    path.write_text("before")
    file.seek(4)
    for target in (path, file):
        with pytest.raises(error):
            await carry(both, Script(list(script)), "download_artifact", NAME, target)
    assert path.read_text() == "before"
    assert names_in(tmp_path) == [path.name]
    assert file.getvalue() == b"kept"
