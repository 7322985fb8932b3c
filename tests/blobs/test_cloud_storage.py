import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn

from aex_models.canonical import sha256_hex
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing, Blobs, BlobTooLarge, BlobUnavailable
from tests.blobs.contract import CONTENT, BlobsContract, chunks, taken
from tests.blobs.xml_api_server import Bucket

NAME = "some-bucket"
PATH = f"records/{sha256_hex(CONTENT)[:2]}/{sha256_hex(CONTENT)}"

Call = Callable[[Blobs], Awaitable[object]]
CALLS: list[tuple[str, Call, float]] = [
    ("ping", lambda blobs: blobs.ping(), 3),
    ("put", lambda blobs: blobs.put("records", CONTENT), 30),
    ("get", lambda blobs: blobs.get("records", sha256_hex(CONTENT)), 30),
    ("read", lambda blobs: blobs.read("records", sha256_hex(CONTENT)), 30),
    ("put_stream", lambda blobs: blobs.put_stream("records", chunks(CONTENT), len(CONTENT)), 30),
]
EACH_CALL = pytest.mark.parametrize(
    ("call", "deadline_s"), [call[1:] for call in CALLS], ids=[call[0] for call in CALLS]
)


@pytest.fixture
def bucket() -> Bucket:
    return Bucket(NAME)


@asynccontextmanager
async def served(bucket: Bucket, port: int = 0) -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", port)) as listening:
        server = uvicorn.Server(uvicorn.Config(bucket.app(), log_config=None, access_log=False, lifespan="off"))
        serving = asyncio.create_task(server.serve([listening]))
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        await serving


@pytest.fixture
async def server(bucket: Bucket) -> AsyncIterator[str]:
    async with served(bucket) as url:
        yield url


@pytest.fixture
def silent() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def refusing() -> str:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return f"http://127.0.0.1:{closed.getsockname()[1]}"


class TestBucketBehindAnXmlApi(BlobsContract):
    @pytest.fixture
    def blobs(self, server: str) -> Blobs:
        return open_blobs(f"gs://{NAME}", server)

    async def test_blob_lies_under_its_digest(self, blobs: Blobs, bucket: Bucket) -> None:
        await blobs.put("records", CONTENT)
        await blobs.put_stream("evaluation", chunks(CONTENT), len(CONTENT))
        assert sorted(bucket.objects) == [PATH.replace("records", "evaluation"), PATH]

    async def test_prefix_keeps_two_installations_in_one_bucket_apart(self, server: str, bucket: Bucket) -> None:
        await open_blobs(f"gs://{NAME}/first/one/", server).put("records", CONTENT)
        assert list(bucket.objects) == [f"first/one/{PATH}"]
        with pytest.raises(BlobMissing):
            await open_blobs(f"gs://{NAME}/second", server).get("records", sha256_hex(CONTENT))

    async def test_existing_blob_is_not_rewritten(self, blobs: Blobs, bucket: Bucket) -> None:
        await blobs.put("records", CONTENT)
        stored = dict(bucket.objects)
        await blobs.put("records", CONTENT)
        await blobs.put_stream("records", chunks(CONTENT), len(CONTENT))
        assert bucket.objects == stored

    async def test_changed_bytes_are_corrupt_until_the_next_put(self, blobs: Blobs, bucket: Bucket) -> None:
        await blobs.put("records", CONTENT)
        bucket.objects[PATH] = (b"\0" * len(CONTENT), 99)
        with pytest.raises(BlobCorrupt):
            await blobs.get("records", sha256_hex(CONTENT))
        await blobs.put("records", CONTENT)
        assert await blobs.get("records", sha256_hex(CONTENT)) == CONTENT

    async def test_changed_bytes_are_not_read_to_the_end(self, blobs: Blobs, bucket: Bucket) -> None:
        content = b"x" * 9_000_000
        ref = await blobs.put("data", content)
        (name,) = bucket.objects
        bucket.objects[name] = (b"y" + content[1:], 99)
        reading = await blobs.read("data", ref.digest)
        received: list[bytes] = []
        with pytest.raises(BlobCorrupt):
            await taken(reading, received)
        assert 7_000_000 < sum(map(len, received)) < reading.size == 9_000_000

    async def test_blob_deleted_during_a_read_is_unavailable(self, blobs: Blobs, bucket: Bucket) -> None:
        ref = await blobs.put("data", b"x" * 9_000_000)
        reading = await blobs.read("data", ref.digest)
        bucket.objects.clear()
        with pytest.raises(BlobUnavailable):
            await taken(reading, [])

    async def test_stopped_streams_leave_neither_object_nor_upload(self, blobs: Blobs, bucket: Bucket) -> None:
        with pytest.raises(BlobTooLarge):
            await blobs.put_stream("records", chunks(b"x" * 12_000_000, 1_000_000), max_bytes=11_000_000)
        assert "POST uploads" in bucket.requests
        assert (bucket.objects, bucket.uploads) == ({}, {})

    async def test_transient_failure_is_retried(self, blobs: Blobs, bucket: Bucket) -> None:
        bucket.failures = 2
        await blobs.put("records", CONTENT)
        bucket.failures = 2
        assert await blobs.get("records", sha256_hex(CONTENT)) == CONTENT
        assert bucket.requests == ["PUT"] * 3 + ["GET"] * 3

    @pytest.mark.slow
    async def test_lasting_failure_is_unavailable_after_four_tries(self, blobs: Blobs, bucket: Bucket) -> None:
        bucket.failures = 100
        with pytest.raises(BlobUnavailable):
            await blobs.put("records", CONTENT)
        assert bucket.requests == ["PUT"] * 4

    @EACH_CALL
    async def test_missing_bucket_is_unavailable(self, server: str, call: Call, deadline_s: float) -> None:
        with pytest.raises(BlobUnavailable):
            await asyncio.wait_for(call(open_blobs("gs://another-bucket", server)), 30 + deadline_s)


class TestUnreachable:
    @EACH_CALL
    async def test_refused_connections_fail_a_call_soon(self, refusing: str, call: Call, deadline_s: float) -> None:
        with pytest.raises(BlobUnavailable):
            await asyncio.wait_for(call(open_blobs(f"gs://{NAME}", refusing)), 30 + deadline_s)

    @pytest.mark.slow
    async def test_unanswered_ping_fails_within_three_seconds(self, silent: str) -> None:
        with pytest.raises(BlobUnavailable, match="ping: no answer within 3"):
            await asyncio.wait_for(open_blobs(f"gs://{NAME}", silent).ping(), 20)

    @pytest.mark.slow
    async def test_unanswered_calls_fail_within_their_deadlines(self, silent: str) -> None:
        blobs = open_blobs(f"gs://{NAME}", silent)
        failures = await asyncio.gather(*(call(blobs) for _, call, _ in CALLS), return_exceptions=True)
        assert [type(failure) for failure in failures] == [BlobUnavailable] * len(CALLS)

    async def test_recovered_bucket_is_used(self, refusing: str) -> None:
        bucket = Bucket(NAME)
        blobs = open_blobs(f"gs://{NAME}", refusing)
        with pytest.raises(BlobUnavailable):
            await blobs.put("records", CONTENT)
        async with served(bucket, int(refusing.rpartition(":")[2])):
            await blobs.put("records", CONTENT)
        assert list(bucket.objects) == [PATH]


class TestUrl:
    @pytest.mark.parametrize(
        "name",
        [
            "", "/bucket", "ab", "Bucket", "-bucket", "bucket-", "my bucket", "user@bucket", "bucket:443",
            "bucket?x=1", "a..b", "google-bucket", "a" * 64,
        ],
    )  # fmt: skip
    def test_invalid_bucket_is_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match=r"names no bucket: gs://bucket\[/prefix\]"):
            open_blobs(f"gs://{name}")

    @pytest.mark.parametrize("prefix", ["/", "a//b", "..", "a/../b", ".", "a b", "a?x", "a#x", "%2e"])
    def test_invalid_prefix_is_refused(self, prefix: str) -> None:
        with pytest.raises(ValueError, match="a prefix has folders of"):
            open_blobs(f"gs://bucket/{prefix}")

    @pytest.mark.parametrize("name", ["abc", "my_bucket-1", "a" * 63, "data.example.com", f"{'a' * 63}.{'b' * 63}"])
    def test_valid_bucket_is_opened_without_a_call(self, name: str) -> None:
        open_blobs(f"gs://{name}")
        open_blobs(f"gs://{name}/")

    @pytest.mark.parametrize("emulator", ["localhost:9023", "", "ftp://localhost"])
    def test_emulator_without_a_scheme_is_refused(self, emulator: str) -> None:
        with pytest.raises(ValueError, match=r"STORAGE_EMULATOR_HOST: .* is no http or https URL"):
            open_blobs("gs://bucket", emulator)


async def test_credentials_that_cannot_be_read_are_unavailable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(BlobUnavailable):
        await open_blobs("gs://bucket").ping()
