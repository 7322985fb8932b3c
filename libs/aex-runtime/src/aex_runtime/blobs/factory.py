"""The choice of a blob store by its URL."""

from pathlib import Path

from obstore.store import LocalStore, MemoryStore

from aex_runtime.blobs.folder import Folder
from aex_runtime.blobs.objects import ObjectBlobs
from aex_runtime.blobs.port import Blobs

_ACCEPTED = "file:///relative/path, file:////absolute/path, gs://bucket[/prefix] or memory:"


def open_blobs(url: str, emulator: str | None = None) -> Blobs:
    """Return the blob store that a URL names; it connects and creates files only at its first use.

    The path follows the third slash: `file:///relative`, `file:////absolute`. `emulator` is the URL of an emulator,
    used instead of Cloud Storage. Raises `ValueError` for any other URL.
    """
    scheme, _, rest = url.partition(":")
    if scheme == "memory" and rest in {"", "//"}:
        return ObjectBlobs(MemoryStore)
    if scheme == "file":
        path = rest.removeprefix("///")
        if path in {rest, ""}:
            raise ValueError(f"a folder of blobs needs a path: {_ACCEPTED}")
        folder = Folder(Path(path))

        def connect() -> LocalStore:
            folder.create_root()
            folder.delete_abandoned_streams()
            return LocalStore(prefix=folder.root)

        return ObjectBlobs(connect, folder)
    if scheme == "gs":
        from aex_runtime.blobs import cloud_storage  # noqa: PLC0415 a process has one kind of blob store

        return ObjectBlobs(cloud_storage.bucket_opener(cloud_storage.parse_bucket_url(url), emulator))
    raise ValueError(f"unknown blob scheme {scheme!r}; a blob store is {_ACCEPTED}")
