"""Blobs as files: private, written atomically, and durable."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from aex_runtime.files import create_and_open_file, sync_folder

PRIVATE_FILE = 0o600


class AtomicFileWrite:
    """A file to write, in steps: write, sync, rename and close.

    The steps of several files alternate, to share syncs. After an error the later steps do nothing, and `failure` is
    the error.
    """

    def __init__(self, path: Path, staged: Path, content: bytes, make_folders: Callable[[], None]) -> None:
        """`staged` is the path before the renaming; `make_folders` creates the folders of both paths."""
        self.path = path
        self.failure: OSError | None = None
        self._staged = staged
        self._content = content
        self._make_folders = make_folders
        self._descriptor: int | None = None
        self._to_be_named = False

    def write_staged_unless_present(self) -> None:
        """Write the bytes to the staged path, unless the file at the final path has the same bytes.

        A file with other bytes was damaged by a power cut and will be replaced.
        """
        with self._keeping_failure():
            if self._exists():
                self._descriptor = os.open(self.path, os.O_RDONLY)  # its writer may have died before the sync
                os.fchmod(self._descriptor, PRIVATE_FILE)
                return
            try:
                self._descriptor = create_and_open_file(self._staged, self._content, PRIVATE_FILE)
            except FileNotFoundError:  # its first file, or the root is missing
                self._make_folders()
                self._descriptor = create_and_open_file(self._staged, self._content, PRIVATE_FILE)
            self._to_be_named = True

    def sync_to_disk(self) -> None:
        """Sync the bytes to the disk."""
        with self._keeping_failure():
            if self._descriptor is not None:
                os.fsync(self._descriptor)

    def rename_to_path(self) -> None:
        """Rename the staged file to its final path. The name is durable only after a sync of the folder."""
        with self._keeping_failure():
            if not self._to_be_named or self.failure is not None:
                return
            try:
                self._staged.replace(self.path)
            except FileNotFoundError:  # the first file of its folder, or the root is missing
                self._make_folders()
                self._staged.replace(self.path)
            self._to_be_named = False

    def close_and_delete_staged(self) -> None:
        """Close the file, and delete it if it was not renamed."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self._to_be_named:
            self._staged.unlink(missing_ok=True)

    @contextmanager
    def _keeping_failure(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.failure = self.failure or error

    def _exists(self) -> bool:
        try:
            return self.path.stat().st_size == len(self._content) and self.path.read_bytes() == self._content
        except FileNotFoundError:
            return False


STAGING = "staging"
"""Name of the folder, in an area, of streams whose digest is not known yet."""
_PRIVATE_FOLDER = 0o700
_ABANDONED_S = 86_400
"""Age of staged files above which their process must have been killed: no upload takes that long."""


class Folder:
    """The root folder of a blob store. Its methods block: call them in a thread."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    def create_root(self) -> None:
        """Create the root folder if it is missing."""
        self._make(self.root)

    def delete_abandoned_streams(self) -> None:
        """Delete the staged files of killed processes. In a bucket, lifecycle rules do that."""
        oldest = time.time() - _ABANDONED_S
        for path in self.root.glob(f"*/{STAGING}/*"):
            with suppress(FileNotFoundError):  # another process may delete it
                if path.stat().st_mtime < oldest:
                    path.unlink()

    def create_blob_folder(self, path: str) -> None:
        """Create the folder of a blob's path. Raises `OSError` if the root is missing.

        A missing root, such as an unmounted disk, is not created again, because its blobs would seem lost.
        """
        self.check_writable()
        self._make((self.root / path).parent)

    def put_all(self, blobs: Sequence[tuple[str, bytes]]) -> list[OSError | None]:
        """Write pairs of path and content atomically and durably, readable by their owner only.

        Return an error or None for each. All are written before the first sync, so that they share most syncs. It
        writes without obstore, whose threads would cost more than everything else in a request.
        """
        files = [self._start_write(path, content) for path, content in blobs]
        try:
            for step in (
                AtomicFileWrite.write_staged_unless_present,
                AtomicFileWrite.sync_to_disk,
                AtomicFileWrite.rename_to_path,
            ):
                for each in files:
                    step(each)
        finally:
            for each in files:
                each.close_and_delete_staged()
        unsynced: dict[Path, OSError] = {}
        for folder in {each.path.parent for each in files if each.failure is None}:
            try:
                sync_folder(folder)
            except OSError as error:
                unsynced[folder] = error
        return [each.failure or unsynced.get(each.path.parent) for each in files]

    def _start_write(self, path: str, content: bytes) -> AtomicFileWrite:
        staged = self.root / path.partition("/")[0] / STAGING / uuid4().hex

        def make_folders() -> None:
            self.create_blob_folder(path)
            self._make(staged.parent)

        return AtomicFileWrite(self.root / path, staged, content, make_folders)

    def make_private_and_durable(self, path: str) -> None:
        """Make a written blob readable by its owner only, and durable. obstore renames without a sync."""
        blob = self.root / path
        file = os.open(blob, os.O_RDONLY)
        try:
            os.fchmod(file, PRIVATE_FILE)
            os.fsync(file)
        finally:
            os.close(file)
        sync_folder(blob.parent)

    def check_writable(self) -> None:
        """Raise `OSError` if the root is missing, or cannot be read and written."""
        if not self.root.is_dir() or not os.access(self.root, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(f"{self.root} is no folder that can be written")

    def _make(self, folder: Path) -> None:
        if folder.is_dir():
            return
        self._make(folder.parent)
        folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
        sync_folder(folder.parent)
