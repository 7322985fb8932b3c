"""Files that outlive a power cut: their bytes are on the disk before anybody finds them by their names."""

import os
from pathlib import Path


def write_new(path: Path, content: bytes, mode: int) -> None:
    """A file that was not there, whole and on the disk; its name is durable once its folder is synced too.

    Nothing is left of one that could not be written. Raises `OSError`, `FileExistsError` among them.
    """
    descriptor = open_new(path, content, mode)
    try:
        os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def open_new(path: Path, content: bytes, mode: int) -> int:
    """The descriptor of a file that was not there, whole: `os.fsync` puts its bytes on the disk.

    Nothing is left of one that could not be written. Raises `OSError`, `FileExistsError` among them.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        os.fchmod(descriptor, mode)  # whatever the umask took
        _write_all(descriptor, content)
    except BaseException:
        os.close(descriptor)
        path.unlink(missing_ok=True)
        raise
    return descriptor


def sync_folder(folder: Path) -> None:
    """Put on the disk which names a folder holds. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:  # a call may take less than it is given
        left = left[os.write(descriptor, left) :]
