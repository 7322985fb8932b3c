"""Raw data in files for a confined worker, deleted after its job.

If the service runs as root, a worker is another user: it can enter the folders but not list them, and file names are
random. Files of a killed process are deleted by the next one; a lock on each job's folder shows that its process
lives.
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
from contextlib import ExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, ParamSpec, Self, TypeVar

import structlog

from aex_models.contract import Artifact
from aex_models.examination import DataOwner
from aex_models.science import DataFile
from aex_outcomes.science.source_files import SourceFile, resolve_data_format, resolve_media_type
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing, Blobs, BlobUnavailable
from aex_verification.fair_slots import FairSlots

DATA_AREA, ARTIFACTS_AREA = "data", "artifacts"
AT_ONCE = 4
"""Jobs with files on the disk at once, each with up to 500 MB of the consumer and 500 MB of the agent."""
_MAX_WAITING = 1_000
"""Limit of waits for a slot, above the number of handlers and requests."""
_PREFIX, _UNLOCKED = "aex-spool-", ".aex-spool-new-"
_LOCK = "lock"
_BUSY_S = 60
"""Age in seconds below which a folder may be in the course of creation or deletion."""
_ENTERED, _READ = 0o711, 0o444
_log = structlog.get_logger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


class FileLost(Exception):
    """Error for an uploaded file that is missing or corrupt in the store; its owner is not at fault."""

    def __init__(self, owner: DataOwner, name: str, reason: str) -> None:
        super().__init__(f"the {owner.value}'s file is {reason}")
        self.owner, self.name = owner, name


class SpoolUnavailable(Exception):
    """Error of the disk or the blob store; a later retry may succeed."""


class Spool:
    """Writer of job files in folders below `parent`, by default the system's temporary folder.

    Entering the context deletes folders of ended processes.
    """

    def __init__(self, blobs: Blobs, parent: Path | None = None, at_once: int = AT_ONCE) -> None:
        self._blobs = blobs
        self._parent = parent or Path(tempfile.gettempdir())
        self._slots = FairSlots(at_once, _MAX_WAITING)

    async def __aenter__(self) -> Self:
        await _in_thread(remove_leftover_folders, self._parent)
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Do nothing, because each job deletes its files."""

    @asynccontextmanager
    async def write_temporary_files(
        self, data: Sequence[DataFile | Artifact], artifacts: Sequence[Artifact], queue: str = ""
    ) -> AsyncIterator[tuple[SourceFile, ...]]:
        """Write the consumer's files, then the agent's, and delete them after the block.

        Waits for a slot, in turn with other queues. Raises `FileLost` and `SpoolUnavailable`.
        """
        if not data and not artifacts:
            yield ()
            return
        with ExitStack() as slot:
            await self._slots.acquire(queue, slot)
            async with _job_folder(self._parent) as folder:
                job = _JobFiles(self._blobs, folder)
                with _as_unavailable():
                    files = [await job.write_consumer_file(each) for each in data]
                    files += [await job.write_artifact(each, DataOwner.AGENT) for each in artifacts]
                yield tuple(files)


class _JobFiles:
    """Files of one job; an upload that is named twice is written once."""

    def __init__(self, blobs: Blobs, folder: Path) -> None:
        self._blobs, self._folder = blobs, folder
        self._written: dict[tuple[str, str | None], str] = {}

    async def write_consumer_file(self, data: DataFile | Artifact) -> SourceFile:
        """Write a file of the consumer, uploaded or inline."""
        if isinstance(data, Artifact):
            return await self.write_artifact(data, DataOwner.CONSUMER)
        media_type = resolve_media_type(data.name, data.media_type)
        file = SourceFile(data.name, media_type, self._new_path(), DataOwner.CONSUMER)
        return await self._write_upload(file, DATA_AREA, data.sha256)

    async def write_artifact(self, artifact: Artifact, owner: DataOwner) -> SourceFile:
        """Write an artifact, uploaded or inline."""
        file = SourceFile(artifact.name, artifact.media_type, self._new_path(), owner)
        if artifact.sha256 is not None:
            return await self._write_upload(file, ARTIFACTS_AREA, artifact.sha256)
        await _in_thread(_write_inline, Path(file.path), artifact)
        return file

    async def _write_upload(self, file: SourceFile, area: str, digest: str | None) -> SourceFile:
        """Write an uploaded file; of an attachment, which no worker reads, only an empty file."""
        is_read = resolve_data_format(file) is not None
        known = self._written.get((area, digest)) if is_read else None
        if known is not None:
            return replace(file, path=known)
        path = Path(file.path)
        await _in_thread(path.touch)
        if is_read:
            try:
                reading = await self._blobs.read(area, digest or "")
                async with aclosing(reading.pieces) as pieces:
                    async for piece in pieces:
                        await _in_thread(_append, path, piece)
            except (BlobMissing, BlobCorrupt) as error:
                reason = "missing" if isinstance(error, BlobMissing) else "corrupt"
                raise FileLost(file.owner, file.name, reason) from error
            self._written[area, digest] = file.path
        await _in_thread(path.chmod, _READ)
        return file

    def _new_path(self) -> str:
        return str(self._folder / secrets.token_hex(16))


def remove_leftover_folders(parent: Path) -> None:
    """Delete the folders that ended processes of this user left in `parent`."""
    for folder in (*parent.glob(f"{_PREFIX}*"), *parent.glob(f"{_UNLOCKED}*")):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            is_old = time.time() - folder.stat().st_mtime > _BUSY_S
            if folder.name.startswith(_UNLOCKED) and not is_old:
                continue
            with (folder / _LOCK).open("ab" if is_old else "rb") as lock:  # one that was killed early has none
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(folder)
        except OSError:  # its process lives, or another one is just removing it
            continue


@asynccontextmanager
async def _job_folder(parent: Path) -> AsyncIterator[Path]:
    folder = _Folder(parent)
    try:
        with _as_unavailable():
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
        """Create the folder and lock it before it gets its final name, so that it is no leftover to others."""
        self._unlocked.mkdir(0o700)
        self._lock = (self._unlocked / _LOCK).open("xb")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._unlocked.chmod(_ENTERED)
        self._unlocked.rename(self.path)

    def remove(self) -> None:
        _remove(self._unlocked)
        _remove(self.path)
        if self._lock is not None:
            self._lock.close()


def _append(path: Path, piece: bytes) -> None:
    # Opened for each piece: a file that is open while its job is cancelled would stay open.
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
def _as_unavailable() -> Iterator[None]:
    try:
        yield
    except (OSError, BlobUnavailable) as error:
        raise SpoolUnavailable(type(error).__name__) from error


async def _in_thread(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run the function in a thread to its end even if the caller is cancelled.

    Otherwise files could appear in a folder that was deleted.
    """
    running = asyncio.ensure_future(asyncio.to_thread(fn, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
