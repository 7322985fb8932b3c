"""What every blob store does. A backend's test class inherits this and provides the fixture `blobs`."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from aex_models.canonical import sha256_hex
from aex_runtime.blobs.port import BlobMissing, BlobRef, Blobs, BlobTooLarge

CONTENT = b"evaluation data " * 1_000


async def chunks(content: bytes, size: int = 4_096) -> AsyncIterator[bytes]:
    """A stream of bytes."""
    for start in range(0, len(content), size):
        yield content[start : start + size]


class BlobsContract:
    @pytest.mark.parametrize("content", [b"", b"x", CONTENT, b"\0\xff" * 4_000_000])
    async def test_bytes_come_back_by_their_digest(self, blobs: Blobs, content: bytes) -> None:
        ref = await blobs.put("evaluation", content)
        assert ref == BlobRef(sha256_hex(content), len(content))
        assert await blobs.get("evaluation", ref.digest) == content

    @pytest.mark.parametrize("content", [b"", b"x", CONTENT, b"\0\xff" * 4_000_000])
    async def test_stream_comes_back_by_its_digest(self, blobs: Blobs, content: bytes) -> None:
        ref = await blobs.put_stream("evaluation", chunks(content, 500_000), max_bytes=len(content))
        assert ref == BlobRef(sha256_hex(content), len(content))
        assert await blobs.get("evaluation", ref.digest) == content

    async def test_same_bytes_twice_are_one_blob(self, blobs: Blobs) -> None:
        refs = [
            await blobs.put("records", CONTENT),
            await blobs.put("records", CONTENT),
            await blobs.put_stream("records", chunks(CONTENT), len(CONTENT)),
        ]
        assert len(set(refs)) == 1
        assert await blobs.get("records", refs[0].digest) == CONTENT

    async def test_same_bytes_at_once_are_one_blob(self, blobs: Blobs) -> None:
        puts = [blobs.put("records", CONTENT) for _ in range(10)]
        streams = [blobs.put_stream("records", chunks(CONTENT), len(CONTENT)) for _ in range(10)]
        assert len(set(await asyncio.gather(*puts, *streams))) == 1
        assert await blobs.get("records", sha256_hex(CONTENT)) == CONTENT

    async def test_areas_do_not_mix(self, blobs: Blobs) -> None:
        ref = await blobs.put("evaluation", CONTENT)
        with pytest.raises(BlobMissing):
            await blobs.get("records", ref.digest)

    @pytest.mark.parametrize("digest", ["0" * 64, "", "x", "../../etc/passwd", "0" * 63 + "G", "0" * 65])
    async def test_unknown_digest_is_missing(self, blobs: Blobs, digest: str) -> None:
        await blobs.put("records", CONTENT)
        with pytest.raises(BlobMissing):
            await blobs.get("records", digest)

    @pytest.mark.parametrize("area", ["", "a/b", "..", "A", "a b", "a" * 64])
    async def test_area_that_cannot_be_named_is_refused(self, blobs: Blobs, area: str) -> None:
        with pytest.raises(ValueError, match="cannot name an area"):
            await blobs.put(area, CONTENT)
        with pytest.raises(ValueError, match="cannot name an area"):
            await blobs.get(area, "0" * 64)
        with pytest.raises(ValueError, match="cannot name an area"):
            await blobs.put_stream(area, chunks(CONTENT), 10**6)

    async def test_get_takes_no_more_than_it_may(self, blobs: Blobs) -> None:
        ref = await blobs.put("records", CONTENT)
        assert await blobs.get("records", ref.digest, max_bytes=len(CONTENT)) == CONTENT
        with pytest.raises(BlobTooLarge):
            await blobs.get("records", ref.digest, max_bytes=len(CONTENT) - 1)

    async def test_stream_past_its_cap_is_stopped_and_leaves_nothing(self, blobs: Blobs) -> None:
        passed = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal passed
            while True:
                passed += 100_000
                yield b"x" * 100_000

        with pytest.raises(BlobTooLarge, match="more than 1000000 bytes"):
            await blobs.put_stream("records", endless(), max_bytes=1_000_000)
        assert passed <= 1_200_000
        with pytest.raises(BlobMissing):
            await blobs.get("records", sha256_hex(b"x" * 1_000_000))

    async def test_error_of_the_source_reaches_the_caller_as_it_is(self, blobs: Blobs) -> None:
        async def broken() -> AsyncIterator[bytes]:
            yield b"x"
            raise ConnectionResetError("the client went away")

        with pytest.raises(ConnectionResetError, match="went away"):
            await blobs.put_stream("records", broken(), max_bytes=10)

    async def test_it_answers_a_ping(self, blobs: Blobs) -> None:
        await blobs.ping()
