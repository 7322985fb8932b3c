"""Durable files, whose bytes are on the disk before their names appear, and the data directory."""

import asyncio
import os
import secrets
import shutil
from pathlib import Path


def create_and_open_file(path: Path, content: bytes, mode: int) -> int:
    """Create a file with this content and return its open descriptor, which the caller must close.

    The content is not synced yet. Raises `FileExistsError` for an existing file. After any other `OSError` the file is
    deleted.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        os.fchmod(descriptor, mode)  # despite the umask
        remaining = memoryview(content)
        while remaining:  # a call may write less than it gets
            remaining = remaining[os.write(descriptor, remaining) :]
    except BaseException:
        os.close(descriptor)
        path.unlink(missing_ok=True)
        raise
    return descriptor


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to the disk. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_FREE_STEP_BYTES = 100_000_000
LAYOUT_VERSION = "2"
"""Incremented with each incompatible change of the files in the data directory."""
_VERSION_FILE = "version"


class UnknownLayout(Exception):
    """A data directory with the layout of another version, or a directory that is no data directory."""


def ensure_data_dir(path: Path) -> Path:
    """Create the data directory if it is missing, check its layout version, and return its path.

    Raises `UnknownLayout`.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    version_file = path / _VERSION_FILE
    if not version_file.exists():
        create_file_once(version_file, f"{LAYOUT_VERSION}\n".encode(), mode=0o644)
    found = version_file.read_text(encoding="utf-8").strip()
    if found != LAYOUT_VERSION:
        raise UnknownLayout(
            f"{path} has layout version {found[:20]!r}, and this version reads {LAYOUT_VERSION!r} alone: "
            "name another directory, or start the version that wrote this one"
        )
    return path


async def rounded_free_bytes(path: Path) -> float:
    """Return the free bytes on the directory's disk in whole 100 MB. Raises `OSError` if it is missing.

    Any caller reads metrics: exact bytes would reveal the size of whatever was stored last.
    """
    free = (await asyncio.to_thread(shutil.disk_usage, path)).free
    return float(free - free % _FREE_STEP_BYTES)


def create_file_once(path: Path, content: bytes, mode: int) -> bool:
    """Create a file atomically and durably; return False if it exists already."""
    temporary = _write_temporary(path, content, mode)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    sync_folder(path.parent)
    return True


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Create a file, or replace its content, atomically and durably."""
    _write_temporary(path, content, mode).replace(path)
    sync_folder(path.parent)


def _write_temporary(path: Path, content: bytes, mode: int) -> Path:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = create_and_open_file(temporary, content, mode)
    try:
        os.fsync(descriptor)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    return temporary
