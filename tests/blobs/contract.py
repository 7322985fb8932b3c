import asyncio
from collections.abc import AsyncIterator

import pytest

from aex_models.canonical import sha256_hex
from aex_runtime.blobs.port import BlobMissing, BlobReading, BlobRef, Blobs, BlobTooLarge

CONTENT = b"evaluation data " * 1_000


async def chunks(content: bytes, size: int = 4_096) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def taken(reading: BlobReading, into: list[bytes]) -> bytes:
    async for piece in reading.pieces:
        into.append(piece)  # noqa: PERF401 of a reading that ends early, what came is kept
    return b"".join(into)


class BlobsContract:
    @pytest.mark.parametrize("content", [b"", b"x", CONTENT, b"\0\xff" * 4_000_000])
    async def test_bytes_are_read_by_their_digest(self, blobs: Blobs, content: bytes) -> None:
        ref = await blobs.put("evaluation", content)
        assert ref == BlobRef(sha256_hex(content), len(content))
        assert await blobs.get("evaluation", ref.digest) == content
        reading = await blobs.read("evaluation", ref.digest)
        pieces = [piece async for piece in reading.pieces]
        assert (reading.size, b"".join(pieces)) == (len(content), content)
        assert all(0 < len(piece) <= 1_048_576 for piece in pieces)

    @pytest.mark.parametrize("content", [b"", b"x", CONTENT, b"\0\xff" * 4_000_000])
    async def test_stream_is_read_by_its_digest(self, blobs: Blobs, content: bytes) -> None:
        ref = await blobs.put_stream("evaluation", chunks(content, 500_000), max_bytes=len(content))
        assert ref == BlobRef(sha256_hex(content), len(content))
        assert await blobs.get("evaluation", ref.digest) == content

    async def test_closed_reading_affects_no_other(self, blobs: Blobs) -> None:
        content = b"0123456789abcdef" * 700_000
        ref = await blobs.put("data", content)
        reading = await blobs.read("data", ref.digest)
        assert await anext(reading.pieces) == content[:1_048_576]
        await reading.pieces.aclose()
        assert await taken(await blobs.read("data", ref.digest), []) == content

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

    @pytest.mark.parametrize("digest", ["0" * 64, "", "x", "../../etc/passwd", "0" * 63 + "G", sha256_hex(CONTENT)])
    async def test_unknown_digest_is_missing(self, blobs: Blobs, digest: str) -> None:
        await blobs.put("evaluation", CONTENT)
        for area in ("records", "data"):
            with pytest.raises(BlobMissing):
                await blobs.get(area, digest)
            with pytest.raises(BlobMissing):
                await blobs.read(area, digest)

    @pytest.mark.parametrize("area", ["", "a/b", "..", "A", "a b", "a" * 64])
    async def test_invalid_area_is_refused(self, blobs: Blobs, area: str) -> None:
        digest, stream = "0" * 64, chunks(CONTENT)
        calls = blobs.put(area, CONTENT), blobs.get(area, digest), blobs.read(area, digest)
        for call in (*calls, blobs.put_stream(area, stream, 10**6)):
            with pytest.raises(ValueError, match="cannot name an area"):
                await call

    async def test_get_reads_at_most_its_limit(self, blobs: Blobs) -> None:
        ref = await blobs.put("records", CONTENT)
        assert await blobs.get("records", ref.digest, max_bytes=len(CONTENT)) == CONTENT
        with pytest.raises(BlobTooLarge):
            await blobs.get("records", ref.digest, max_bytes=len(CONTENT) - 1)

    async def test_stream_past_its_cap_is_stopped_and_leaves_nothing(self, blobs: Blobs) -> None:
        sent = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal sent
            while True:
                sent += 100_000
                yield b"x" * 100_000

        with pytest.raises(BlobTooLarge, match="more than 1000000 bytes"):
            await blobs.put_stream("records", endless(), max_bytes=1_000_000)
        assert sent <= 1_200_000
        with pytest.raises(BlobMissing):
            await blobs.get("records", sha256_hex(b"x" * 1_000_000))

    async def test_error_of_the_source_reaches_the_caller_as_it_is(self, blobs: Blobs) -> None:
        async def broken() -> AsyncIterator[bytes]:
            yield b"x"
            raise ConnectionResetError("the client went away")

        with pytest.raises(ConnectionResetError, match="went away"):
            await blobs.put_stream("records", broken(), max_bytes=10)

    async def test_ping_succeeds(self, blobs: Blobs) -> None:
        await blobs.ping()
