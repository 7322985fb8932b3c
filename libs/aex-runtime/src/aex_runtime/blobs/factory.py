"""The blob store that a URL names."""

from pathlib import Path

from obstore.store import LocalStore, MemoryStore

from aex_runtime.blobs.folder import Folder
from aex_runtime.blobs.objects import ObjectBlobs
from aex_runtime.blobs.port import Blobs

_ACCEPTED = "file:///relative/path, file:////absolute/path, gs://bucket[/prefix] or memory:"


def open_blobs(url: str, emulator: str | None = None) -> Blobs:
    """The blob store behind a URL. Nothing is touched before its first use. Raises `ValueError` for other URLs.

    Paths are written as in a store's URL: what follows the third slash, so that an absolute path has four.
    `emulator` is the URL of an emulator in the place of Cloud Storage.
    """
    scheme, _, rest = url.partition(":")
    if scheme == "memory" and rest in {"", "//"}:
        return ObjectBlobs(MemoryStore)
    if scheme == "file":
        path = rest.removeprefix("///")
        if path in {rest, ""}:
            raise ValueError(f"a folder of blobs needs a path: {_ACCEPTED}")
        return _folder(Folder(Path(path)))
    if scheme == "gs":
        from aex_runtime.blobs.cloud_storage import (  # noqa: PLC0415 a process has one kind of blob store
            bucket_of,
            connection_to,
        )

        return ObjectBlobs(connection_to(bucket_of(url), emulator))
    raise ValueError(f"unknown blob scheme {scheme!r}; a blob store is {_ACCEPTED}")


def _folder(folder: Folder) -> Blobs:
    def connect() -> LocalStore:
        folder.make()
        folder.tidy()
        return LocalStore(prefix=folder.root)

    return ObjectBlobs(connect, folder)
