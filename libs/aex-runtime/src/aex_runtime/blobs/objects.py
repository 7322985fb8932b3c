"""A blob store through obstore: on a folder, in a bucket of Cloud Storage, or in memory."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore

from aex_runtime.blobs.batch_writer import BlobBatchWriter
from aex_runtime.blobs.folder import STAGING, Folder
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing, BlobReading, BlobRef, BlobTooLarge, BlobUnavailable
from aex_runtime.blobs.streams import Meter, compute_digest, iterate_verified_pieces

if TYPE_CHECKING:
    from obstore import GetResult  # its stubs alone have the name

_AREA = re.compile(r"[a-z][a-z0-9-]{0,62}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_CHUNK = 1_048_576
"""Bytes of one call's response, which must end within seconds even if the reader is slow."""
_MAX_PARTS = 2
"""Parts of a stream that are sent to a bucket at once. Each has 5 MB in memory."""
_PING_S = 3.0
_NO_BUCKET = "<Code>NoSuchBucket</Code>"


class ObjectBlobs:
    """A blob store with the paths `{area}/{first two digits}/{digest}`.

    `connect` opens the object store, in a thread at the first use. `folder` is the folder of a store on a local disk,
    else None. A call takes at most `deadline_s`, except streams, which take as long as their source.
    """

    def __init__(
        self, connect: Callable[[], ObjectStore], folder: Folder | None = None, deadline_s: float = 30.0
    ) -> None:
        self._connect = connect
        self._folder = folder
        self._puts = BlobBatchWriter(folder.put_all) if folder is not None else None
        self._deadline_s = deadline_s
        self._store: ObjectStore | None = None
        self._opening = asyncio.Lock()

    async def put(self, area: str, content: bytes) -> BlobRef:
        ref = BlobRef(await compute_digest(content), len(content))
        path = _path(area, ref.digest)
        async with _translate_errors(f"put {path}", self._deadline_s):
            store = await self._open_store()
            if self._puts is not None:
                await self._puts.put(path, content)
                return ref
            try:
                await obstore.put_async(store, path, content, mode="create")
            except AlreadyExistsError:
                if not await self._is_intact(area, ref):
                    await obstore.put_async(store, path, content, mode="overwrite", use_multipart=False)
        return ref

    async def put_stream(self, area: str, chunks: AsyncIterator[bytes], max_bytes: int) -> BlobRef:
        meter = Meter(chunks, max_bytes)
        staged = f"{_check_area(area)}/{STAGING}/{uuid4().hex}"
        try:
            async with _translate_errors(f"put {staged}", None):
                return await self._take(area, staged, meter)
        except Exception:
            if meter.failure is not None:  # the source's own error, before obstore translated it
                raise meter.failure from None
            raise

    async def _take(self, area: str, staged: str, meter: Meter) -> BlobRef:
        """Write a stream to the staged path, then move it to the path of its digest."""
        store = await self._prepare_store(staged)
        try:
            await obstore.put_async(store, staged, meter.iterate_and_measure_chunks(), max_concurrency=_MAX_PARTS)
            ref = meter.blob_ref()
            path = _path(area, ref.digest)
            await self._seal(staged)
            await self._prepare_store(path)
            # A power cut may have damaged a blob in a folder. A bucket damages none, and accepts one write per second
            # to an object: an existing blob remains.
            try:
                await obstore.rename_async(store, staged, path, overwrite=self._folder is not None)
            except AlreadyExistsError:
                await obstore.delete_async(store, staged)
            await self._seal(path)
        except BaseException:
            with suppress(BaseError, OSError):  # the caller gets the first error
                await obstore.delete_async(store, staged)
            raise
        return ref

    async def get(self, area: str, digest: str, max_bytes: int | None = None) -> bytes:
        path = _blob_path(area, digest)
        async with _translate_errors(f"get {path}", self._deadline_s):
            content = await self._read(path, max_bytes)
        if await compute_digest(content) != digest:
            raise BlobCorrupt(f"{path}: the bytes have another digest")
        return content

    async def read(self, area: str, digest: str) -> BlobReading:
        path = _blob_path(area, digest)
        async with _translate_errors(f"get {path}", self._deadline_s):
            result = await self._get_object(path)
            first = await _receive(result, _CHUNK)  # a small blob needs no other call

        async def fetch(start: int) -> bytes:
            async with _translate_errors(f"get {path}", self._deadline_s):
                store = await self._open_store()
                end = min(start + _CHUNK, size)
                return bytes(await obstore.get_range_async(store, path, start=start, end=end))

        size = result.meta["size"]
        return BlobReading(size, iterate_verified_pieces(path, digest, size, first, fetch))

    async def ping(self) -> None:
        async with _translate_errors("ping", _PING_S):
            store = await self._open_store()
            if self._folder is not None:
                await asyncio.to_thread(self._folder.check_writable)
            try:  # with a body, which distinguishes a missing bucket from a missing blob
                await obstore.get_async(store, "ping")
            except FileNotFoundError as error:
                _check_bucket(error)

    async def _open_store(self) -> ObjectStore:
        if self._store is not None:
            return self._store
        async with self._opening:  # two concurrent first uses must share a store in memory
            if self._store is None:
                self._store = await asyncio.to_thread(self._connect)
            return self._store

    async def _prepare_store(self, path: str) -> ObjectStore:
        store = await self._open_store()
        if self._folder is not None:
            await asyncio.to_thread(self._folder.create_blob_folder, path)
        return store

    async def _seal(self, path: str) -> None:
        if self._folder is not None:
            await asyncio.to_thread(self._folder.make_private_and_durable, path)

    async def _is_intact(self, area: str, ref: BlobRef) -> bool:
        try:
            await self.get(area, ref.digest, ref.size)
        except (BlobCorrupt, BlobMissing, BlobTooLarge):
            return False
        return True

    async def _get_object(self, path: str) -> "GetResult":
        store = await self._open_store()
        try:
            return await obstore.get_async(store, path)
        except FileNotFoundError as error:
            if self._folder is not None:  # without its root the store is unavailable
                await asyncio.to_thread(self._folder.check_writable)
            _check_bucket(error)
            raise BlobMissing(path) from error

    async def _read(self, path: str, max_bytes: int | None) -> bytes:
        result = await self._get_object(path)
        limit = result.meta["size"] if max_bytes is None else max_bytes
        content = b""
        if result.meta["size"] <= limit:
            content = await _receive(result, limit + 1)
        if max(result.meta["size"], len(content)) > limit:
            raise BlobTooLarge(f"{path}: more than {limit} bytes")
        return content


def _check_bucket(error: FileNotFoundError) -> None:
    """Raise `BlobUnavailable` if the error says that the bucket is missing."""
    if _NO_BUCKET in str(error):
        raise BlobUnavailable("there is no such bucket") from error


async def _receive(result: "GetResult", enough: int) -> bytes:
    """Return the first chunks of a response that have at least `enough` bytes together."""
    parts: list[bytes] = []
    async for chunk in result.stream(min_chunk_size=_CHUNK):
        parts.append(bytes(chunk))
        enough -= len(chunk)
        if enough <= 0:
            break
    return b"".join(parts)


def _blob_path(area: str, digest: str) -> str:
    """Return the path of a blob. Raises `BlobMissing` for text that is no digest."""
    if _DIGEST.fullmatch(digest) is None:
        raise BlobMissing(f"{_check_area(area)}: {digest!r} is no digest")
    return _path(area, digest)


def _check_area(area: str) -> str:
    if _AREA.fullmatch(area) is None:
        raise ValueError(f"{area!r} cannot name an area")
    return area


def _path(area: str, digest: str) -> str:
    return f"{_check_area(area)}/{digest[:2]}/{digest}"


@asynccontextmanager
async def _translate_errors(operation: str, deadline_s: float | None) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(deadline_s):
            yield
    except TimeoutError as error:
        raise BlobUnavailable(f"{operation}: no answer within {deadline_s} s") from error
    except (BaseError, OSError) as error:
        first_line = next(iter(str(error).splitlines()), type(error).__name__)  # obstore adds pages of debug output
        raise BlobUnavailable(f"{operation}: {first_line}") from error
