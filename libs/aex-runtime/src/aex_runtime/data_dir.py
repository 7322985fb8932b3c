"""The data directory of an embedded installation: its layout version, and files that several processes may make."""

import asyncio
import os
import secrets
import shutil
from pathlib import Path

from aex_runtime.durable_files import sync_folder, write_new

LAYOUT_VERSION = "2"
"""Raised with every change to the files in it that a version before cannot read, or that cannot read its files."""
_VERSION_FILE = "version"


class UnknownLayout(Exception):
    """The directory was written by another version, or is no data directory."""


def open_data_dir(path: Path) -> Path:
    """Make the directory where there is none and check its layout version. Raises `UnknownLayout`."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    version_file = path / _VERSION_FILE
    if not version_file.exists():
        publish_once(version_file, f"{LAYOUT_VERSION}\n".encode(), mode=0o644)
    found = version_file.read_text(encoding="utf-8").strip()
    if found != LAYOUT_VERSION:
        raise UnknownLayout(
            f"{path} has layout version {found[:20]!r}, and this version reads {LAYOUT_VERSION!r} alone: "
            "name another directory, or start the version that wrote this one"
        )
    return path


async def free_bytes(path: Path) -> float:
    """How much can still be written to the disk that the directory is on. Raises `OSError` where it is gone."""
    return float((await asyncio.to_thread(shutil.disk_usage, path)).free)


def publish_once(path: Path, content: bytes, mode: int) -> bool:
    """Give `path` its content unless it has some; whole or not at all. False where another process was first."""
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
    """Give `path` new content; readers see the old or the new, never a part."""
    _write_temporary(path, content, mode).replace(path)
    sync_folder(path.parent)


def _write_temporary(path: Path, content: bytes, mode: int) -> Path:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    write_new(temporary, content, mode)
    return temporary
