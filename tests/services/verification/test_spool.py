import asyncio
import base64
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from aex_models.contract import Artifact
from aex_models.examination import DataOwner
from aex_models.science import DataFile
from aex_outcomes.science.source_files import SourceFile
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.blobs.port import Blobs
from aex_verification.spool import ARTIFACTS_AREA, DATA_AREA, FileLost, Spool, SpoolUnavailable

CSV = b"mut_score\n-0.4\n"
LARGE = bytes(range(256)) * 20_000


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return open_blobs(f"file:///{tmp_path}/blobs")


@pytest.fixture
def parent() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="aex-test-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def spool(blobs: Blobs, parent: Path) -> Spool:
    return Spool(blobs, parent)


def everything(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def content_of(file: SourceFile) -> bytes:
    return Path(file.path).read_bytes()


def modes_of(paths: Iterable[Path]) -> set[int]:
    return {stat.S_IMODE(place.stat().st_mode) for place in paths}


def inline(name: str, content: str) -> Artifact:
    return Artifact(name=name, media_type="text/csv", content=content)


async def given(blobs: Blobs, content: bytes = LARGE, name: str = "given.csv") -> DataFile:
    return DataFile(name=name, sha256=(await blobs.put(DATA_AREA, content)).digest)


async def test_each_file_is_written_unchanged_with_its_owner(spool: Spool, blobs: Blobs) -> None:
    uploaded = (await blobs.put(ARTIFACTS_AREA, CSV)).digest
    artifacts = [
        inline("text.csv", "ä\n1\n"),
        Artifact(name="coded.csv", media_type="text/csv", content_base64=base64.b64encode(b"\0\xff").decode()),
        Artifact(name="sent.csv", media_type="text/csv", sha256=uploaded),
    ]
    async with spool.write_temporary_files([inline("own.csv", "x"), await given(blobs)], artifacts) as files:
        found = [(each.name, each.owner, each.media_type, content_of(each)) for each in files]
    assert found == [
        ("own.csv", DataOwner.CONSUMER, "text/csv", b"x"),
        ("given.csv", DataOwner.CONSUMER, "text/csv", LARGE),
        ("text.csv", DataOwner.AGENT, "text/csv", "ä\n1\n".encode()),
        ("coded.csv", DataOwner.AGENT, "text/csv", b"\0\xff"),
        ("sent.csv", DataOwner.AGENT, "text/csv", CSV),
    ]


async def test_names_are_random_and_folders_unlistable(spool: Spool, blobs: Blobs, parent: Path) -> None:
    async with spool.write_temporary_files([await given(blobs)], [inline("a.csv", "x")]) as files:
        names = [Path(each.path).name for each in files]
        folders = modes_of(place for place in everything(parent) if place.is_dir())
        modes = modes_of(Path(each.path) for each in files)
    assert (folders, modes) == ({0o711}, {0o444})
    assert len(set(names)) == 2
    assert all(len(name) == 32 for name in names)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its user")
async def test_unprivileged_worker_reads_its_files_and_lists_none(spool: Spool, blobs: Blobs) -> None:
    code = "import os, sys; os.setuid(65534); print(len(open(sys.argv[1], 'rb').read())); os.listdir(sys.argv[2])"
    async with spool.write_temporary_files([await given(blobs)], []) as files:
        path = Path(files[0].path)
        command = [sys.executable, "-c", code, str(path), str(path.parent)]
        ran = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, errors = await ran.communicate()
    assert out == f"{len(LARGE)}\n".encode()
    assert b"PermissionError" in errors


async def test_files_are_removed_after_any_end(spool: Spool, blobs: Blobs, parent: Path) -> None:
    async with spool.write_temporary_files([], []) as files:
        assert (files, everything(parent)) == ((), [])
    file = await given(blobs)
    async with spool.write_temporary_files([file], []):
        assert len(everything(parent)) == 3
    with pytest.raises(RuntimeError, match="the worker died"):
        async with spool.write_temporary_files([file], []):
            raise RuntimeError("the worker died")
    assert everything(parent) == []


async def test_cancelled_job_leaves_nothing(spool: Spool, blobs: Blobs, parent: Path) -> None:
    file = await given(blobs)

    async def job() -> None:
        async with spool.write_temporary_files([file] * 10, []):
            await asyncio.Event().wait()

    for pause in (0.0, 0.001, 0.01, 0.05):
        running = asyncio.create_task(job())
        await asyncio.sleep(pause)
        running.cancel()
        await asyncio.wait([running])
        assert everything(parent) == []


async def test_lost_file_names_its_owner(spool: Spool, blobs: Blobs, tmp_path: Path, parent: Path) -> None:
    file = await given(blobs)
    (stored,) = [place for place in everything(tmp_path / "blobs") if place.is_file()]
    stored.write_bytes(LARGE[:-1] + b"!")
    with pytest.raises(FileLost, match="the consumer's file is corrupt"):
        async with spool.write_temporary_files([file], []):
            pass
    wrong_area = DataFile(name="area.csv", sha256=(await blobs.put(ARTIFACTS_AREA, CSV)).digest)
    lost = DataFile(name="given.csv", sha256="0" * 64)
    gone = Artifact(name="sent.csv", media_type="text/csv", sha256="0" * 64)
    found = []
    for data, artifacts in (([lost], []), ([], [gone]), ([DataFile(name="unnamed.csv")], []), ([wrong_area], [])):
        with pytest.raises(FileLost) as error:
            async with spool.write_temporary_files(data, artifacts):
                pass
        found.append((error.value.owner, error.value.name))
    consumer, agent = DataOwner.CONSUMER, DataOwner.AGENT
    assert found == [(consumer, "given.csv"), (agent, "sent.csv"), (consumer, "unnamed.csv"), (consumer, "area.csv")]
    assert everything(parent) == []


async def test_repeated_upload_is_written_once_and_attachments_not(spool: Spool, blobs: Blobs, parent: Path) -> None:
    uploaded = (await blobs.put(ARTIFACTS_AREA, LARGE)).digest
    both = [Artifact(name=name, media_type="text/csv", sha256=uploaded) for name in ("a.csv", "b.csv")]
    plot = Artifact(name="plot.png", media_type="image/png", sha256=uploaded)
    async with spool.write_temporary_files([await given(blobs)], [plot, *both]) as files:
        assert [len(content_of(each)) for each in files] == [len(LARGE), 0, len(LARGE), len(LARGE)]
        assert [each.name for each in files] == ["given.csv", "plot.png", "a.csv", "b.csv"]
        on_disk = sum(place.stat().st_size for place in everything(parent) if place.is_file())
    assert on_disk == 2 * len(LARGE)  # the consumer's and the agent's, who are not one


async def test_unreachable_disk_or_store_is_unavailable(
    spool: Spool, blobs: Blobs, tmp_path: Path, parent: Path
) -> None:
    file = await given(blobs)
    (tmp_path / "blobs").rename(tmp_path / "elsewhere")
    with pytest.raises(SpoolUnavailable):
        async with spool.write_temporary_files([file], []):
            pass
    with pytest.raises(SpoolUnavailable):
        async with Spool(blobs, parent / "not there").write_temporary_files([], [inline("a.csv", "x")]):
            pass


async def test_concurrent_jobs_are_bounded(blobs: Blobs, parent: Path) -> None:
    spool, inside, pairs = Spool(blobs, parent, at_once=3), 0, asyncio.Barrier(2)  # the third is for another queue

    async def job() -> None:
        nonlocal inside
        async with spool.write_temporary_files([], [inline("a.csv", "x")]):
            inside += 1
            await pairs.wait()  # passed by two at once
            assert inside <= 2
            await asyncio.sleep(0.01)
            inside -= 1

    async with asyncio.timeout(30):
        await asyncio.gather(*(job() for _ in range(10)))


_KILLED = """
import asyncio, os, sys
from pathlib import Path
from aex_models.contract import Artifact
from aex_runtime.blobs.factory import open_blobs
from aex_verification.spool import Spool

async def main():
    spool = Spool(open_blobs("memory:"), Path(sys.argv[1]))
    async with spool, spool.write_temporary_files([], [Artifact(name="a", media_type="text/csv", content="x")]):
        print("written", flush=True)
        sys.stdin.read()
        os.kill(os.getpid(), 9)

asyncio.run(main())
"""


@pytest.mark.slow
async def test_leftovers_are_removed_and_folders_in_use_kept(blobs: Blobs, parent: Path) -> None:
    command = [sys.executable, "-c", _KILLED, str(parent)]
    process = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert await process.stdout.readline() == b"written\n"
    async with Spool(blobs, parent):
        assert len(everything(parent)) == 3
    process.stdin.close()
    await process.wait()
    assert len(everything(parent)) == 3
    async with Spool(blobs, parent):
        assert everything(parent) == []


async def test_half_made_and_half_removed_folders_are_removed(blobs: Blobs, parent: Path) -> None:
    names = (".aex-spool-new-old", "aex-spool-half-removed", ".aex-spool-new-just-made", "aex-spool-being-removed")
    for name in names:
        (parent / name).mkdir()
    for name in names[:2]:
        os.utime(parent / name, (1, 1))
    async with Spool(blobs, parent):
        assert [place.name for place in everything(parent)] == sorted(names[2:])
