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
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, ParamSpec, Self, TypeVar

import structlog

from aex_models.contract import Artifact
from aex_models.science import DataFile, DataOwner
from aex_outcomes.science.source import SourceFile, format_of, media_type_of
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing, Blobs, BlobUnavailable

DATA_AREA, ARTIFACTS_AREA = "data", "artifacts"
AT_ONCE = 4
"""Jobs whose files are on the disk at once, each with at most 500 MB of the consumer's and of the agent's."""
_PREFIX, _UNLOCKED = "aex-spool-", ".aex-spool-new-"
_LOCK = "lock"
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
        self, data: Sequence[DataFile], artifacts: Sequence[Artifact]
    ) -> AsyncIterator[tuple[SourceFile, ...]]:
        """The consumer's files, then the agent's, until the block ends.

        Raises `FileLost` and `SpoolUnavailable`. Waits while too many others have theirs written out.
        """
        if not data and not artifacts:
            yield ()
            return
        async with self._places, _job_folder(self._parent) as folder:
            with _translated():
                found = [await self._consumers(folder, each) for each in data]
                found += [await self._agents(folder, each) for each in artifacts]
            yield tuple(found)

    async def _consumers(self, folder: Path, given: DataFile) -> SourceFile:
        media_type = given.media_type or media_type_of(given.name)
        file = SourceFile(given.name, media_type, _new_path(folder), DataOwner.CONSUMER)
        await self._fetch(file, DATA_AREA, given.sha256)
        return file

    async def _agents(self, folder: Path, artifact: Artifact) -> SourceFile:
        file = SourceFile(artifact.name, artifact.media_type, _new_path(folder), DataOwner.AGENT)
        if artifact.sha256 is not None:
            await self._fetch(file, ARTIFACTS_AREA, artifact.sha256)
        else:
            await _in_thread(_write_inline, Path(file.path), artifact)
        return file

    async def _fetch(self, file: SourceFile, area: str, digest: str | None) -> None:
        """Write an upload out; of an attachment, which nobody reads, nothing."""
        path = Path(file.path)
        await _in_thread(path.touch)
        if format_of(file) is not None:
            with _blaming(file):
                reading = await self._blobs.read(area, digest or "")
                async with aclosing(reading.pieces) as pieces:
                    async for piece in pieces:
                        await _in_thread(_append, path, piece)
        await _in_thread(path.chmod, _READ)


def remove_leftovers(parent: Path) -> None:
    """Remove what processes of this user left in `parent` that are no more."""
    for place in parent.glob(f"{_PREFIX}*"):
        try:
            if place.is_symlink() or place.stat().st_uid != os.geteuid():
                continue
            with (place / _LOCK).open("rb") as lock:
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
