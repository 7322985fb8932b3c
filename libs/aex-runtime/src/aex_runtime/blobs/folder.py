"""What a folder of blobs needs beyond what obstore does: private modes, and bytes that outlive a power cut."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from aex_runtime.blobs.folder_writing import PRIVATE_FILE, FileWriting, write_all
from aex_runtime.durable_files import sync_folder

STAGING = "staging"
"""Of an area: where streams lie until their digest is known."""
_PRIVATE_FOLDER = 0o700
_ABANDONED_S = 86_400
"""Nobody sends one blob for that long: what is older was left by a process that was killed."""


class Folder:
    """The root of a blob store on a local disk. Its methods touch the disk: call them in a thread."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    def make(self) -> None:
        """Create the root where there is none."""
        self._make(self.root)

    def tidy(self) -> None:
        """Remove streams that nobody goes on with; in a bucket its lifecycle rules do that."""
        oldest = time.time() - _ABANDONED_S
        for place in self.root.glob(f"*/{STAGING}/*"):
            with suppress(FileNotFoundError):  # another process tidies too
                if place.stat().st_mtime < oldest:
                    place.unlink()

    def prepare(self, path: str) -> None:
        """Create the folders above a blob, before obstore would with open modes. Raises `OSError` without the root.

        A root that was there and is gone (a disk that is not mounted) is not made anew: over an empty one all would
        seem well, and what lies in the true one lost.
        """
        self.check()
        self._make((self.root / path).parent)

    def put_all(self, blobs: Sequence[tuple[str, bytes]]) -> list[OSError | None]:
        """Write blobs (path, content), each whole, private and durable; for each of them why it could not be written.

        With the system's own calls, and as few as will do: a small blob by obstore's way through its threads costs more
        than all that a request does besides.
        """
        return write_all([self._writing(path, content) for path, content in blobs])

    def _writing(self, path: str, content: bytes) -> FileWriting:
        staged = self.root / path.partition("/")[0] / STAGING / uuid4().hex

        def make_folders() -> None:
            self.prepare(path)
            self._make(staged.parent)

        return FileWriting(self.root / path, staged, content, make_folders)

    def seal(self, path: str) -> None:
        """Make a written blob private and durable: obstore renames into place, it does not sync."""
        place = self.root / path
        file = os.open(place, os.O_RDONLY)
        try:
            os.fchmod(file, PRIVATE_FILE)
            os.fsync(file)
        finally:
            os.close(file)
        sync_folder(place.parent)

    def check(self) -> None:
        """Raise `OSError` where blobs could not be read and written."""
        if not self.root.is_dir() or not os.access(self.root, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(f"{self.root} is no folder that can be written")

    def _make(self, folder: Path) -> None:
        if folder.is_dir():
            return
        self._make(folder.parent)
        folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
        sync_folder(folder.parent)
