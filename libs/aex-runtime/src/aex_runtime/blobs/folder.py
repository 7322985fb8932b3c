"""What a folder of blobs needs beyond what obstore does: private modes, and bytes that outlive a power cut."""

import os
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from aex_runtime.durable_files import sync_folder, write_new

STAGING = "staging"
"""Of an area: where streams lie until their digest is known."""
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600
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

    def put(self, path: str, content: bytes) -> None:
        """Write a blob: whole, private and durable. One with these bytes stays; another was torn by a power cut.

        With the system's own calls, one after the other, and as few as will do: a small blob by obstore's way through
        its threads costs more than all that a request does besides.
        """
        place = self.root / path
        if _has(place, content):
            self.seal(path)  # whoever wrote it may have died before
            return
        staged = self.root / path.partition("/")[0] / STAGING / uuid4().hex
        try:
            _put_whole(staged, place, content)
        except FileNotFoundError:  # the first one there; or the root is gone
            self.prepare(path)
            self._make(staged.parent)
            _put_whole(staged, place, content)
        sync_folder(place.parent)

    def seal(self, path: str) -> None:
        """Make a written blob private and durable: obstore renames into place, it does not sync."""
        place = self.root / path
        file = os.open(place, os.O_RDONLY)
        try:
            os.fchmod(file, _PRIVATE_FILE)
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


def _put_whole(staged: Path, place: Path, content: bytes) -> None:
    write_new(staged, content, _PRIVATE_FILE)
    try:
        staged.replace(place)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise


def _has(place: Path, content: bytes) -> bool:
    """Whether there is a file with these bytes."""
    try:
        return place.stat().st_size == len(content) and place.read_bytes() == content
    except FileNotFoundError:
        return False
