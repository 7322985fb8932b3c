"""Files on their way into a folder of blobs, several at once: the bytes are on the disk before the names are."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from aex_runtime.durable_files import open_new, sync_folder

PRIVATE_FILE = 0o600


class FileWriting:
    """One file. A step that fails keeps its `OSError` in `failure`, and those after it do nothing."""

    def __init__(self, place: Path, staged: Path, content: bytes, make_folders: Callable[[], None]) -> None:
        """`staged`: where it lies until its bytes are on the disk. `make_folders`: those of both."""
        self.place = place
        self.failure: OSError | None = None
        self._staged = staged
        self._content = content
        self._make_folders = make_folders
        self._descriptor: int | None = None
        self._to_be_named = False

    def begin(self) -> None:
        """Write the bytes. A file with the very same ones stays; another was torn by a power cut."""
        with self._keeping_failure():
            if self._is_there():
                self._descriptor = os.open(self.place, os.O_RDONLY)  # whoever wrote it may have died before the sync
                os.fchmod(self._descriptor, PRIVATE_FILE)
                return
            try:
                self._descriptor = open_new(self._staged, self._content, PRIVATE_FILE)
            except FileNotFoundError:  # the first one there; or the root is gone
                self._make_folders()
                self._descriptor = open_new(self._staged, self._content, PRIVATE_FILE)
            self._to_be_named = True

    def sync(self) -> None:
        """Have the bytes on the disk."""
        with self._keeping_failure():
            if self._descriptor is not None:
                os.fsync(self._descriptor)

    def name(self) -> None:
        """Give it its name, which is durable once the folder of `place` is synced."""
        with self._keeping_failure():
            if not self._to_be_named or self.failure is not None:
                return
            try:
                self._staged.replace(self.place)
            except FileNotFoundError:  # the first one in its folder; or the root is gone
                self._make_folders()
                self._staged.replace(self.place)
            self._to_be_named = False

    def close(self) -> None:
        """Let go of the file, and of what did not get its name."""
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

    def _is_there(self) -> bool:
        try:
            return self.place.stat().st_size == len(self._content) and self.place.read_bytes() == self._content
        except FileNotFoundError:
            return False


def write_all(writings: Sequence[FileWriting]) -> list[OSError | None]:
    """Write them, each whole, private and durable; for each of them why it could not be.

    All are written before the first is synced, and all have their names before the first folder is synced: most of
    what one has the disk do is done for the others too.
    """
    try:
        for step in (FileWriting.begin, FileWriting.sync, FileWriting.name):
            for each in writings:
                step(each)
    finally:
        for each in writings:
            each.close()
    unsynced: dict[Path, OSError] = {}
    for folder in {each.place.parent for each in writings if each.failure is None}:
        try:
            sync_folder(folder)
        except OSError as error:
            unsynced[folder] = error
    return [each.failure or unsynced.get(each.place.parent) for each in writings]
