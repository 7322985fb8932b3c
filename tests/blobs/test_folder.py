import asyncio
import os
import stat
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from aex_models.canonical import sha256_hex
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing, Blobs, BlobTooLarge, BlobUnavailable
from tests.blobs.contract import CONTENT, BlobsContract, chunks, taken
from tests.bus.messages import eventually


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data" / "blobs"


def modes(root: Path) -> tuple[set[int], set[int]]:
    found = [(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in (root, *root.rglob("*"))]
    return {mode for folder, mode in found if not folder}, {mode for folder, mode in found if folder}


def move(path: Path, name: str) -> None:
    path.rename(path.with_name(name))


def files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


class TestFolderOfBlobs(BlobsContract):
    @pytest.fixture
    def blobs(self, root: Path) -> Blobs:
        return open_blobs(f"file:///{root}")

    async def test_blob_lies_under_its_digest(self, blobs: Blobs, root: Path) -> None:
        await blobs.put("records", CONTENT)
        await blobs.put_stream("evaluation", chunks(CONTENT), len(CONTENT))
        digest = sha256_hex(CONTENT)
        assert files(root) == [root / area / digest[:2] / digest for area in ("evaluation", "records")]

    async def test_files_and_folders_are_private(self, blobs: Blobs, root: Path) -> None:
        await blobs.put("records", CONTENT)
        await blobs.put_stream("evaluation", chunks(b"other"), 10)
        assert modes(root) == ({0o600}, {0o700})

    async def test_changed_bytes_are_corrupt_until_the_next_put(self, blobs: Blobs, root: Path) -> None:
        ref = await blobs.put("records", CONTENT)
        for torn in (b"\0" * len(CONTENT), CONTENT[:100], b""):
            files(root)[0].write_bytes(torn)
            with pytest.raises(BlobCorrupt):
                await blobs.get("records", ref.digest)
            await blobs.put("records", CONTENT)
            assert await blobs.get("records", ref.digest) == CONTENT

    async def test_changed_bytes_are_not_read_to_the_end(self, blobs: Blobs, root: Path) -> None:
        ref = await blobs.put("data", CONTENT * 300)
        for torn in (b"\0" * ref.size, CONTENT * 299, b""):
            files(root)[0].write_bytes(torn)
            reading = await blobs.read("data", ref.digest)
            received: list[bytes] = []
            with pytest.raises(BlobCorrupt):
                await taken(reading, received)
            assert sum(map(len, received)) < max(len(torn), 1)

    async def test_stopped_streams_leave_no_file(self, blobs: Blobs, root: Path) -> None:
        with pytest.raises(BlobTooLarge):
            await blobs.put_stream("records", chunks(b"x" * 12_000_000), max_bytes=11_000_000)

        async def stalled() -> AsyncIterator[bytes]:
            yield b"x" * 6_000_000
            await asyncio.sleep(60)

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(blobs.put_stream("records", stalled(), max_bytes=10**9), 0.3)
        await eventually(lambda: files(root) == [])

    async def test_streams_of_killed_processes_are_removed_a_day_later(self, root: Path) -> None:
        staging = root / "data" / "staging"
        staging.mkdir(parents=True)
        now = time.time()
        for name, age_s in (("abandoned", 86_500), ("under way", 86_300)):
            (staging / name).write_bytes(b"x")
            os.utime(staging / name, (now - age_s, now - age_s))
        await open_blobs(f"file:///{root}").ping()
        assert [file.name for file in files(root)] == ["under way"]

    async def test_nothing_is_touched_before_the_first_use(self, blobs: Blobs, root: Path) -> None:
        assert blobs is not None
        assert not root.parent.exists()

    async def test_missing_folder_is_unavailable_and_not_created(self, blobs: Blobs, root: Path) -> None:
        ref = await blobs.put("records", CONTENT)
        move(root, "elsewhere")
        calls = blobs.ping(), blobs.get("records", ref.digest), blobs.put("records", b"another")
        for call in (*calls, blobs.put_stream("records", chunks(b"another"), 1_000)):
            with pytest.raises(BlobUnavailable):
                await call
        move(root.with_name("elsewhere"), root.name)  # fails if the folder was created
        await blobs.ping()
        assert await blobs.get("records", ref.digest) == CONTENT

    async def test_unreachable_folder_is_unavailable_and_recovers(self, blobs: Blobs, root: Path) -> None:
        root.parent.write_text("a file where a folder should be")
        for attempt in (blobs.ping(), blobs.put("records", CONTENT), blobs.get("records", "0" * 64)):
            with pytest.raises(BlobUnavailable):
                await attempt
        root.parent.unlink()
        await blobs.ping()
        with pytest.raises(BlobMissing):
            await blobs.get("records", "0" * 64)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    async def test_unreadable_blob_is_unavailable(self, blobs: Blobs, root: Path) -> None:
        ref = await blobs.put("records", CONTENT)
        files(root)[0].chmod(0)
        with pytest.raises(BlobUnavailable):
            await blobs.get("records", ref.digest)


class TestFactory:
    async def test_three_slashes_are_relative_and_four_absolute(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        ref = await open_blobs("file:///a/blobs").put("records", CONTENT)
        assert await open_blobs(f"file:///{tmp_path}/a/blobs").get("records", ref.digest) == CONTENT

    @pytest.mark.parametrize("url", ["file:", "file://", "file:///", "file:a", "file://host/a"])
    def test_folder_without_a_path_is_refused(self, url: str) -> None:
        with pytest.raises(ValueError, match="needs a path: file:///relative/path"):
            open_blobs(url)

    @pytest.mark.parametrize("url", ["", "s3://bucket", "memory:x"])
    def test_unknown_scheme_names_the_accepted_ones(self, url: str) -> None:
        with pytest.raises(ValueError, match=r"unknown blob scheme .* file:///relative/path"):
            open_blobs(url)
