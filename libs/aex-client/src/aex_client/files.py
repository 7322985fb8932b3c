"""Uploads and downloads of files, without network access: the clients send the requests."""

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import httpx

from aex_client.call import Call, build_answer_parser, build_path
from aex_client.call_attempts import CallAttempts, CallPolicy, Done
from aex_client.endpoints import Service
from aex_client.errors import AnswerNotUnderstood
from aex_models.contract import UploadedArtifact

CHUNK_BYTES = 262_144
Content = bytes | str | os.PathLike[str] | BinaryIO
"""Content to upload: bytes, the path of a file, or an open file. Retries need its `seek`."""
Target = str | os.PathLike[str] | BinaryIO
"""Target of a download: the path of a file, or an open file, written from its current position."""
_STORE_S = 60.0
"""Seconds that a service may take to store a complete file, in addition to the usual time limit."""


class FileUpload:
    """The upload of a file, with all its attempts."""

    def __init__(self, policy: CallPolicy, content: Content, service: Service) -> None:
        call = Call(
            service,
            "PUT",
            "/v1/artifacts",
            build_answer_parser(UploadedArtifact),
            uses_idempotency_key=True,
            wait_s=_STORE_S,
        )
        self.attempts = CallAttempts(policy, call)
        self._content = content
        self._start = None if isinstance(content, bytes | str | os.PathLike) else _position(content)

    @contextmanager
    def open_content(self) -> Iterator[BinaryIO]:
        """Yield the content as an open file at its start, for one attempt. Raises `OSError`."""
        if isinstance(self._content, bytes):
            yield BytesIO(self._content)
        elif isinstance(self._content, str | os.PathLike):
            with Path(self._content).open("rb") as file:
                yield file
        else:
            self._content.seek(self._start or 0)
            yield self._content

    def count_attempt_and_build_request(self, token: str, file: BinaryIO, chunks: object) -> httpx.Request:
        """Count a further attempt and return its request. `chunks` has to yield the content of `file`."""
        plain = self.attempts.count_attempt_and_build_request(token)
        start = file.tell()
        size = file.seek(0, os.SEEK_END) - start
        file.seek(start)
        headers = plain.headers.copy()
        headers.update({"Content-Type": "application/octet-stream", "Content-Length": str(size)})
        return httpx.Request(
            plain.method,
            plain.url,
            headers=headers,
            content=chunks,  # type: ignore[arg-type]  # an iterator for the one client, an async one for the other
            extensions=plain.extensions,
        )


class FileDownload:
    """The download of a file, with all its attempts."""

    def __init__(self, policy: CallPolicy, sha256: str, target: Target, service: Service) -> None:
        call = Call(service, "GET", build_path("/v1/artifacts/{}", sha256), lambda _: 0)
        self.attempts = CallAttempts(policy, call)
        self._sha256 = sha256
        self._target = target
        self._start = 0 if isinstance(target, str | os.PathLike) else _position(target)

    @contextmanager
    def open_partial_file(self) -> Iterator["PartialFile"]:
        """Yield a file for the bytes of one attempt. If the block fails, the bytes are discarded."""
        if isinstance(self._target, str | os.PathLike):
            opened = _replace_on_success(Path(self._target))
        else:
            opened = _truncate_on_failure(self._target, self._start)
        with opened as file:
            yield PartialFile(file, self._sha256)


class PartialFile:
    """The file that one attempt at a download writes, with the digest of the bytes so far."""

    def __init__(self, file: BinaryIO, sha256: str) -> None:
        self._file, self._sha256 = file, sha256
        self._hash = hashlib.sha256()
        self._size = 0

    def write(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self._size += len(chunk)
        self._file.write(chunk)

    def verify_digest_and_flush(self) -> Done[int]:
        """Compare the digest, flush the file and return its size in bytes.

        Raises `AnswerNotUnderstood` if the digest differs from the requested one.
        """
        if self._hash.hexdigest() != self._sha256:
            raise AnswerNotUnderstood(f"{self._sha256}: the received file has another digest")
        self._file.flush()
        return Done(self._size)


def read_chunks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the file from its current position on, in chunks."""
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _position(file: BinaryIO) -> int:
    if not file.seekable():
        raise ValueError("a stream without seek cannot be sent again: give its bytes, or a file's path")
    return file.tell()


@contextmanager
def _replace_on_success(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file in the same folder that replaces `path` if the block succeeds."""
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            yield file
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def _truncate_on_failure(file: BinaryIO, start: int) -> Iterator[BinaryIO]:
    """Yield an open file, and truncate it to `start` if the block fails."""
    try:
        yield file
    except BaseException:
        file.seek(start)
        file.truncate()
        raise
