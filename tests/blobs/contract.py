"""What every blob store does. A backend's test class inherits this and provides the fixture `blobs`."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from aex_models.canonical import sha256_hex
from aex_runtime.blobs.port import BlobMissing, BlobReading, BlobRef, Blobs, BlobTooLarge

CONTENT = b"evaluation data " * 1_000


async def chunks(content: bytes, size: int = 4_096) -> AsyncIterator[bytes]:
    """A stream of bytes."""
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def taken(reading: BlobReading, into: list[bytes]) -> bytes:
    """All of a blob that comes, also kept in `into`, where reading it ends early."""
    async for piece in reading.pieces:
        into.append(piece)  # noqa: PERF401 of a reading that ends early, what came is kept
    return b"".join(into)


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

    @pytest.mark.parametrize("content", [b"", b"x", CONTENT, b"\0\xff" * 5_000_000])
    async def test_a_blob_is_read_piece_by_piece(self, blobs: Blobs, content: bytes) -> None:
        ref = await blobs.put("data", content)
        reading = await blobs.read("data", ref.digest)
        pieces = [piece async for piece in reading.pieces]
        assert (reading.size, b"".join(pieces)) == (len(content), content)
        assert all(0 < len(piece) <= 1_048_576 for piece in pieces)

    async def test_a_reading_that_is_given_up_leaves_others_alone(self, blobs: Blobs) -> None:
        content = b"0123456789abcdef" * 700_000
        ref = await blobs.put("data", content)
        reading = await blobs.read("data", ref.digest)
        assert await anext(reading.pieces) == content[:1_048_576]
        await reading.pieces.aclose()
        again = await blobs.read("data", ref.digest)
        assert await taken(again, []) == content

    @pytest.mark.parametrize("digest", ["0" * 64, "", "../../etc/passwd"])
    async def test_what_is_missing_is_known_before_the_first_piece(self, blobs: Blobs, digest: str) -> None:
        ref = await blobs.put("artifacts", CONTENT)
        with pytest.raises(BlobMissing):
            await blobs.read("artifacts", digest)
        with pytest.raises(BlobMissing):
            await blobs.read("data", ref.digest)
        with pytest.raises(ValueError, match="cannot name an area"):
            await blobs.read("no/area", ref.digest)

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
