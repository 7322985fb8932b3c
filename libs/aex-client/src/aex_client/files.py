"""Files on their way to a service and back: sent from their beginning each time, and kept only whole.

No network here: both clients carry what these say.
"""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import httpx

from aex_client.call import Call, place, reader
from aex_client.endpoints import Service
from aex_client.errors import AnswerNotUnderstood
from aex_client.exchange import Done, Exchange, Manner
from aex_models.artifacts import UploadedArtifact

PIECE = 262_144
Content = bytes | str | os.PathLike[str] | BinaryIO
"""Bytes, the path of a file, or an open file that can be rewound: a repeat sends it once more."""
Target = str | os.PathLike[str] | BinaryIO
"""The path of a file, or an open file: from where it stands."""
_SETTLING_S = 60.0
"""How long a service may take once it has all of a file, on top of the usual."""


class Sending:
    """One upload, from its first request to its answer."""

    def __init__(self, manner: Manner, content: Content, service: Service) -> None:
        call = Call(service, "PUT", "/v1/artifacts", reader(UploadedArtifact), once=True, wait_s=_SETTLING_S)
        self.exchange = Exchange(manner, call)
        self._content = content
        self._start = None if isinstance(content, bytes | str | os.PathLike) else _position(content)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file at its beginning, for one request. Raises `OSError` where a path leads to none."""
        if isinstance(self._content, bytes):
            yield BytesIO(self._content)
        elif isinstance(self._content, str | os.PathLike):
            with Path(self._content).open("rb") as file:
                yield file
        else:
            self._content.seek(self._start or 0)
            yield self._content

    def request(self, token: str, file: BinaryIO, pieces: object) -> httpx.Request:
        """The request to send next; `pieces` give what is in `file`."""
        plain = self.exchange.request(token)
        start = file.tell()
        size = file.seek(0, os.SEEK_END) - start
        file.seek(start)
        headers = plain.headers.copy()
        headers.update({"Content-Type": "application/octet-stream", "Content-Length": str(size)})
        return httpx.Request(
            plain.method,
            plain.url,
            headers=headers,
            content=pieces,  # type: ignore[arg-type]  # an iterator for the one client, an async one for the other
            extensions=plain.extensions,
        )


class Receiving:
    """One download, from its first request to the whole file. `begin`, `take` and `finish` touch the disk."""

    def __init__(self, manner: Manner, sha256: str, target: Target, service: Service) -> None:
        call = Call(service, "GET", place("/v1/artifacts/{}", sha256), lambda _: 0)
        self.exchange = Exchange(manner, call)
        self._sha256 = sha256
        self._place = _part_of(Path(target)) if isinstance(target, str | os.PathLike) else _kept(target)

    @contextmanager
    def received(self) -> Iterator["Part"]:
        """Takes one answer's bytes; what is not finished in the block is gone after it."""
        with self._place() as file:
            yield Part(file, self._sha256)


class Part:
    """What has come of a file in one answer."""

    def __init__(self, file: BinaryIO, sha256: str) -> None:
        self._file, self._sha256 = file, sha256
        self._hash = hashlib.sha256()
        self._size = 0

    def take(self, piece: bytes) -> None:
        """Write a piece."""
        self._hash.update(piece)
        self._size += len(piece)
        self._file.write(piece)

    def finish(self) -> Done[int]:
        """The size of the whole file. Raises `AnswerNotUnderstood` where it is not what was asked for."""
        if self._hash.hexdigest() != self._sha256:
            raise AnswerNotUnderstood(f"{self._sha256}: what came has another digest")
        self._file.flush()
        return Done(self._size)


def read_pieces(file: BinaryIO) -> Iterator[bytes]:
    """What is left of a file."""
    while piece := file.read(PIECE):
        yield piece


def _position(file: BinaryIO) -> int:
    if not file.seekable():
        raise ValueError("a stream that cannot be rewound could not be sent again: give its bytes, or a file's path")
    return file.tell()


def _part_of(path: Path) -> Callable[[], AbstractContextManager[BinaryIO]]:
    """A file beside `path`, which takes its place where the block ends well."""

    @contextmanager
    def beside() -> Iterator[BinaryIO]:
        part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
        try:
            with part.open("xb") as file:
                yield file
            part.replace(path)
        except BaseException:
            with suppress(FileNotFoundError):
                part.unlink()
            raise

    return beside


def _kept(file: BinaryIO) -> Callable[[], AbstractContextManager[BinaryIO]]:
    """An open file, cut back to where it stood where the block ends badly."""
    start = _position(file)

    @contextmanager
    def rewound() -> Iterator[BinaryIO]:
        try:
            yield file
        except BaseException:
            file.seek(start)
            file.truncate()
            raise

    return rewound
