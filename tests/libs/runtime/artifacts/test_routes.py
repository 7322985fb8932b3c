import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from fastapi import APIRouter

from aex_models.canonical import sha256_hex
from aex_runtime.artifacts import UPLOADS_PER_CALLER, Uploads, artifact_routes, uploads_table
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.streaming import TransferRate
from aex_runtime.http.upload import MIN_RATE
from aex_runtime.quotas import UNBOUNDED, StorageBounds
from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings
from aex_runtime.unit_of_work import UnitOfWork
from tests.libs.runtime.http.sample import SERVICE, Sample, sample, serving, until

MAX_BYTES = 30_000_000


@dataclass
class Shelf:
    made: Sample
    backends: Backends
    blobs: Path
    url: str = "http://sample"

    def client(self, sub: str = "acme", role: str = "consumer") -> httpx.AsyncClient:
        if self.url == "http://sample":
            return self.made.client(role, sub)
        headers = {"Authorization": f"Bearer {self.made.token(role, sub)}"}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=30)

    def files(self) -> list[Path]:
        return sorted(path for path in self.blobs.rglob("*") if path.is_file())


@asynccontextmanager
async def opened(
    folder: Path, min_rate: TransferRate = MIN_RATE, bounds: StorageBounds = UNBOUNDED
) -> AsyncIterator[Shelf]:
    settings = RuntimeSettings(data_dir=folder / "aex", store_url="memory:", bus_url="memory:")
    backends = open_backends(settings, SERVICE)
    work = UnitOfWork(SERVICE, backends.store, backends.clock, lambda _: None)
    uploads = Uploads(uploads_table(SERVICE), "data", backends.blobs, backends.store, work, MAX_BYTES, bounds)

    async def size_of(reader: Principal, digest: str) -> int | None:
        found = await uploads.find(reader.role, reader.id, [digest])
        return found[digest].size if found else None

    def add(router: APIRouter) -> None:
        parties = Allow("consumer", "agent")
        router.routes += artifact_routes(uploads, parties, parties, size_of, min_rate).routes

    yield Shelf(sample(folder / "aex", backends, add), backends, folder / "aex" / "blobs")
    await backends.bus.close()
    await backends.store.close()


@asynccontextmanager
async def served(
    folder: Path, min_rate: TransferRate = MIN_RATE, bounds: StorageBounds = UNBOUNDED
) -> AsyncIterator[Shelf]:
    async with opened(folder, min_rate, bounds) as shelf, serving(shelf.made.app) as (_, port):
        shelf.url = f"http://127.0.0.1:{port}"
        yield shelf


CSV = b"mut_score\n-0.4\n"
NAME = sha256_hex(CSV)
LARGE = bytes(range(256)) * 40_000


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    async with opened(tmp_path) as made:
        yield made


@pytest.fixture
async def open_shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    async with served(tmp_path) as made:
        yield made


async def in_pieces(content: bytes, size: int = 100_000) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def test_upload_is_downloaded_unchanged(shelf: Shelf) -> None:
    async with shelf.client() as client:
        put = await client.put("/v1/artifacts", content=CSV, headers={"Content-Type": "text/csv"})
        assert (put.status_code, put.json()) == (201, {"sha256": NAME, "size": len(CSV)})
        got = await client.get(put.headers["location"])
    assert (got.status_code, got.content) == (200, CSV)
    headers = {name: got.headers[name] for name in ("content-type", "content-length", "etag", "x-content-type-options")}
    assert headers == {
        "content-type": "application/octet-stream",
        "content-length": str(len(CSV)),
        "etag": f'"{NAME}"',
        "x-content-type-options": "nosniff",
    }
    assert got.headers["content-disposition"] == f'attachment; filename="{NAME}"'


@pytest.mark.parametrize(
    ("given", "status"),
    [(f'"{NAME}"', 304), (f'W/"{NAME}"', 304), (f'"x", "{NAME}"', 304), ("*", 304), ('"x"', 200), (NAME, 200)],
)
async def test_matching_etag_gets_304(shelf: Shelf, given: str, status: int) -> None:
    async with shelf.client() as client:
        await client.put("/v1/artifacts", content=CSV)
        answer = await client.get(f"/v1/artifacts/{NAME}", headers={"If-None-Match": given})
    assert (answer.status_code, answer.content) == (status, CSV if status == 200 else b"")
    assert answer.headers["etag"] == f'"{NAME}"'


async def test_equal_files_are_one_artifact(shelf: Shelf) -> None:
    async with shelf.client() as client, shelf.client("rival") as rival:
        answers = [await each.put("/v1/artifacts", content=CSV) for each in (client, client, rival)]
    assert {(answer.status_code, answer.text) for answer in answers} == {(201, answers[0].text)}
    assert [file.name for file in shelf.files()] == [NAME]


@pytest.mark.parametrize(("sub", "role"), [("rival", "consumer"), ("acme", "agent")])
async def test_upload_is_readable_by_its_uploader_only(shelf: Shelf, sub: str, role: str) -> None:
    async with shelf.client() as client, shelf.client(sub, role) as other:
        await client.put("/v1/artifacts", content=CSV)
        foreign = await other.get(f"/v1/artifacts/{NAME}")
        unknown = await other.get(f"/v1/artifacts/{'0' * 64}")
        await other.put("/v1/artifacts", content=CSV)
        assert (await other.get(f"/v1/artifacts/{NAME}")).status_code == 200
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.json()["code"] == unknown.json()["code"] == "artifact_not_found"


async def test_key_is_bound_to_one_file(shelf: Shelf) -> None:
    headers = {"Idempotency-Key": "once"}
    async with shelf.client() as client:
        first = await client.put("/v1/artifacts", content=CSV, headers=headers)
        repeat = await client.put("/v1/artifacts", content=CSV, headers=headers)
        other = await client.put("/v1/artifacts", content=b"other", headers=headers)
        assert (await client.get(f"/v1/artifacts/{sha256_hex(b'other')}")).status_code == 404
    assert (first.status_code, repeat.status_code, other.status_code) == (201, 201, 422)
    assert "idempotent-replayed" not in first.headers
    assert (repeat.headers["idempotent-replayed"], repeat.json()) == ("true", first.json())
    assert other.json()["code"] == "idempotency_key_reused"


async def test_empty_file_is_refused(shelf: Shelf) -> None:
    async with shelf.client() as client:
        answers = [await client.put("/v1/artifacts", content=content) for content in (b"", in_pieces(b""))]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(400, "empty_body")] * 2


async def test_oversized_upload_is_refused(open_shelf: Shelf) -> None:
    content = b"x" * (MAX_BYTES + 1)
    async with open_shelf.client() as client:
        announced = await client.put("/v1/artifacts", content=content)
        streamed = await client.put("/v1/artifacts", content=in_pieces(content, 1_000_000))
        exact = await client.put("/v1/artifacts", content=in_pieces(content[1:], 1_000_000))
    assert announced.status_code == streamed.status_code == 413
    assert announced.json()["code"] == streamed.json()["code"] == "body_too_large"
    assert exact.status_code == 201
    assert [file.stat().st_size for file in open_shelf.files()] == [MAX_BYTES]


async def test_aborted_upload_leaves_nothing(open_shelf: Shelf) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"x" * 6_000_000
        await until(lambda: bool(open_shelf.files()) or bool(list(open_shelf.blobs.rglob("*"))))
        raise ConnectionResetError

    async with open_shelf.client() as client:
        with pytest.raises(ConnectionResetError):
            await client.put("/v1/artifacts", content=breaking())
        await until(lambda: not open_shelf.files())
        half = await client.get(f"/v1/artifacts/{sha256_hex(b'x' * 6_000_000)}")
        assert half.status_code == 404
        assert (await client.put("/v1/artifacts", content=CSV)).status_code == 201


async def test_stalled_upload_releases_its_slot(tmp_path: Path) -> None:
    async with served(tmp_path, TransferRate(grace_s=1)) as shelf:
        token = shelf.made.token("consumer", "acme")
        lines = ("PUT /v1/artifacts HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", "Content-Length: 20000000")
        head = "\r\n".join([*lines, "", ""])

        async def stall() -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(shelf.url.rpartition(":")[2]))
            writer.write(head.encode() + b"x" * 6_000_000)
            with suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()

        await asyncio.gather(*(stall() for _ in range(UPLOADS_PER_CALLER)))
        async with shelf.client() as client:
            assert (await client.put("/v1/artifacts", content=CSV)).status_code == 201
        assert [file.name for file in shelf.files()] == [NAME]


async def test_large_file_is_downloaded_unless_it_was_altered(open_shelf: Shelf) -> None:
    async with open_shelf.client() as client:
        put = await client.put("/v1/artifacts", content=in_pieces(LARGE))
        assert put.json() == {"sha256": sha256_hex(LARGE), "size": len(LARGE)}
        assert (await client.get(f"/v1/artifacts/{put.json()['sha256']}")).content == LARGE
        open_shelf.files()[0].write_bytes(LARGE[:-1] + b"!")
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(f"/v1/artifacts/{put.json()['sha256']}")


async def test_concurrent_uploads_are_limited(shelf: Shelf) -> None:
    held, begun = asyncio.Event(), 0

    async def waiting() -> AsyncIterator[bytes]:
        nonlocal begun
        yield b"x"
        begun += 1
        await held.wait()

    async with shelf.client() as client, shelf.client("rival") as rival:
        running = [asyncio.create_task(client.put("/v1/artifacts", content=waiting())) for _ in range(4)]
        await until(lambda: begun == 4)
        refused = await client.put("/v1/artifacts", content=CSV)
        assert (await rival.put("/v1/artifacts", content=CSV)).status_code == 201
        held.set()
        assert {answer.status_code for answer in await asyncio.gather(*running)} == {201}
        assert (await client.put("/v1/artifacts", content=CSV)).status_code == 201
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_uploads")
    assert refused.headers["retry-after"] == "1"


async def test_openapi_documents_binary_bodies(shelf: Shelf) -> None:
    async with shelf.client() as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
    binary = {"type": "string", "format": "binary"}
    assert paths["/v1/artifacts"]["put"]["requestBody"]["content"]["application/octet-stream"]["schema"] == {
        **binary,
        "minLength": 1,
    }
    named = next(each for each in paths["/v1/artifacts/{sha256}"]["get"]["parameters"] if each["in"] == "path")
    assert (named["schema"]["pattern"], "SHA-256" in named["description"]) == ("^[0-9a-f]{64}$", True)
    answers = paths["/v1/artifacts/{sha256}"]["get"]["responses"]
    assert "success_criteria" not in answers["400"]["description"]
    assert answers["200"]["content"] == {"application/octet-stream": {"schema": binary}}
    assert "304" in answers
