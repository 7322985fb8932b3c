"""Raw data as files for a confined worker: written out while it reads them, and gone afterwards.

A worker may be another user (under root it is nobody): folders can be entered but not listed, and files have names
that cannot be guessed. What a killed process left behind is removed by the next one; the lock that a process holds on
the folder of each job tells the two apart.
"""

import asyncio
import base64
import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, ParamSpec, Self, TypeVar

import structlog

from aex_models.contract import Artifact
from aex_models.examination import DataOwner
from aex_models.science import DataFile
from aex_outcomes.science.source import SourceFile, format_of, media_type_of
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing, Blobs, BlobUnavailable

DATA_AREA, ARTIFACTS_AREA = "data", "artifacts"
AT_ONCE = 4
"""Jobs whose files are on the disk at once, each with at most 500 MB of the consumer's and of the agent's."""
_PREFIX, _UNLOCKED = "aex-spool-", ".aex-spool-new-"
_LOCK = "lock"
_BUSY_S = 60
"""So long after its last change a folder may be just being made, or removed: that takes milliseconds."""
_ENTERED, _READ = 0o711, 0o444
_log = structlog.get_logger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


class FileLost(Exception):
    """A file is no longer where it was uploaded to, or no longer what it was. Never its owner's doing."""

    def __init__(self, owner: DataOwner, name: str, why: str) -> None:
        super().__init__(f"the {owner.value}'s file is {why}")
        self.owner, self.name = owner, name


class SpoolUnavailable(Exception):
    """The disk, or the blob store, does not do what it should. Worth a retry, later."""


class Spool:
    """Writes files out below `parent` (unset: the system's folder for temporary files). Enter it to have leftovers
    removed."""

    def __init__(self, blobs: Blobs, parent: Path | None = None, at_once: int = AT_ONCE) -> None:
        self._blobs = blobs
        self._parent = parent or Path(tempfile.gettempdir())
        self._places = asyncio.Semaphore(at_once)

    async def __aenter__(self) -> Self:
        await _in_thread(remove_leftovers, self._parent)
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Nothing is left to do: each job's files went with it."""

    @asynccontextmanager
    async def files(
        self, data: Sequence[DataFile | Artifact], artifacts: Sequence[Artifact]
    ) -> AsyncIterator[tuple[SourceFile, ...]]:
        """The consumer's files, uploaded or inline, then the agent's, until the block ends.

        Raises `FileLost` and `SpoolUnavailable`. Waits while too many others have theirs written out.
        """
        if not data and not artifacts:
            yield ()
            return
        async with self._places, _job_folder(self._parent) as folder:
            job = _Job(self._blobs, folder)
            with _translated():
                found = [await job.consumers(each) for each in data]
                found += [await job.artifact(each, DataOwner.AGENT) for each in artifacts]
            yield tuple(found)


class _Job:
    """The files of one job: what it names twice is written out once."""

    def __init__(self, blobs: Blobs, folder: Path) -> None:
        self._blobs, self._folder = blobs, folder
        self._written: dict[tuple[str, str | None], str] = {}

    async def consumers(self, given: DataFile | Artifact) -> SourceFile:
        """A file of the consumer's, uploaded or inline."""
        if isinstance(given, Artifact):
            return await self.artifact(given, DataOwner.CONSUMER)
        media_type = media_type_of(given.name, given.media_type)
        file = SourceFile(given.name, media_type, _new_path(self._folder), DataOwner.CONSUMER)
        return await self._fetched(file, DATA_AREA, given.sha256)

    async def artifact(self, artifact: Artifact, owner: DataOwner) -> SourceFile:
        """An artifact, uploaded or inline."""
        file = SourceFile(artifact.name, artifact.media_type, _new_path(self._folder), owner)
        if artifact.sha256 is not None:
            return await self._fetched(file, ARTIFACTS_AREA, artifact.sha256)
        await _in_thread(_write_inline, Path(file.path), artifact)
        return file

    async def _fetched(self, file: SourceFile, area: str, digest: str | None) -> SourceFile:
        """The file once its upload is written out; of an attachment, which nobody reads, nothing is."""
        is_read = format_of(file) is not None
        known = self._written.get((area, digest)) if is_read else None
        if known is not None:
            return replace(file, path=known)
        path = Path(file.path)
        await _in_thread(path.touch)
        if is_read:
            with _blaming(file):
                reading = await self._blobs.read(area, digest or "")
                async with aclosing(reading.pieces) as pieces:
                    async for piece in pieces:
                        await _in_thread(_append, path, piece)
            self._written[area, digest] = file.path
        await _in_thread(path.chmod, _READ)
        return file


def remove_leftovers(parent: Path) -> None:
    """Remove what processes of this user left in `parent` that are no more."""
    for place in (*parent.glob(f"{_PREFIX}*"), *parent.glob(f"{_UNLOCKED}*")):
        try:
            if place.is_symlink() or place.stat().st_uid != os.geteuid():
                continue
            is_old = time.time() - place.stat().st_mtime > _BUSY_S
            if place.name.startswith(_UNLOCKED) and not is_old:
                continue
            with (place / _LOCK).open("ab" if is_old else "rb") as lock:  # one that was killed early has none
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(place)
        except OSError:  # its process lives, or another one is just removing it
            continue


@asynccontextmanager
async def _job_folder(parent: Path) -> AsyncIterator[Path]:
    """A folder for one job: locked while it lasts, gone afterwards."""
    folder = _Folder(parent)
    try:
        with _translated():
            await _in_thread(folder.make)
        yield folder.path
    finally:
        await _in_thread(folder.remove)


class _Folder:
    def __init__(self, parent: Path) -> None:
        token = secrets.token_hex(8)
        self._unlocked, self.path = parent / f"{_UNLOCKED}{token}", parent / f"{_PREFIX}{token}"
        self._lock: BinaryIO | None = None

    def make(self) -> None:
        """Under its own name only once it is locked: before that others would take it for a leftover."""
        self._unlocked.mkdir(0o700)
        self._lock = (self._unlocked / _LOCK).open("xb")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._unlocked.chmod(_ENTERED)
        self._unlocked.rename(self.path)

    def remove(self) -> None:
        """However far `make` came."""
        _remove(self._unlocked)
        _remove(self.path)
        if self._lock is not None:
            self._lock.close()


def _new_path(folder: Path) -> str:
    return str(folder / secrets.token_hex(16))


def _append(path: Path, piece: bytes) -> None:
    """Opened for each piece anew: a file that is open while its job is cancelled would stay open."""
    with path.open("ab") as file:
        file.write(piece)


def _write_inline(path: Path, artifact: Artifact) -> None:
    content = artifact.content_base64
    path.write_bytes(base64.b64decode(content) if content is not None else (artifact.content or "").encode())
    path.chmod(_READ)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        _log.warning("spool_not_removed", folder=folder.name)


@contextmanager
def _blaming(file: SourceFile) -> Iterator[None]:
    try:
        yield
    except BlobMissing as error:
        raise FileLost(file.owner, file.name, "missing") from error
    except BlobCorrupt as error:
        raise FileLost(file.owner, file.name, "corrupt") from error


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (OSError, BlobUnavailable) as error:
        raise SpoolUnavailable(type(error).__name__) from error


async def _in_thread(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Off the event loop, and to its end even where the caller is cancelled: else files could appear in a folder that
    is just being removed."""
    running = asyncio.ensure_future(asyncio.to_thread(fn, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
