"""Files of raw data for an examination: owners, formats, and temporary copies for a confined worker."""

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from enum import StrEnum
from hashlib import file_digest
from io import BufferedReader, BytesIO
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from aex_models.contract import Artifact
from aex_models.examination import DataOwner
from aex_models.science import DataFile


@dataclass(frozen=True, slots=True)
class SourceFile:
    """File of raw data on this machine, as an examination's job reads it."""

    name: str
    """Name that the sender gave it; used in messages, never to open a file."""
    media_type: str
    path: str
    """Path to open."""
    owner: DataOwner


class DataFormat(StrEnum):
    """Format of a file of raw data."""

    CSV = "CSV"
    TSV = "TSV"
    JSON_LINES = "JSON lines"
    PARQUET = "Parquet"


_MEDIA_TYPES = {
    DataFormat.CSV: ("text/csv", "text/x-csv", "text/comma-separated-values", "application/csv", "application/x-csv"),
    DataFormat.TSV: ("text/tab-separated-values", "text/tsv", "text/x-tsv"),
    DataFormat.JSON_LINES: (
        *("application/jsonl", "application/x-jsonl", "application/jsonlines", "application/x-jsonlines"),
        *("application/json-lines", "application/x-json-lines", "application/x-ndjson", "application/ndjson"),
        *("text/jsonl", "text/x-ndjson"),
    ),
    DataFormat.PARQUET: ("application/vnd.apache.parquet", "application/x-parquet", "application/parquet"),
}
"""Media types of each format, the usual one first."""
_FORMATS = {media_type: form for form, media_types in _MEDIA_TYPES.items() for media_type in media_types}
MEDIA_TYPES = tuple(media_types[0] for media_types in _MEDIA_TYPES.values())
_GENERIC_TYPES = frozenset({"application/octet-stream", "application/json", "text/plain"})
"""Media types that say nothing about the format: the ending of the file's name decides."""
_UTF_8_NAMES = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
_ENDINGS = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".jsonl": "application/jsonl",
    ".ndjson": "application/x-ndjson",
    ".parquet": "application/vnd.apache.parquet",
}
ENDINGS = tuple(_ENDINGS)
"""Endings of file names whose format is known."""


def resolve_media_type(file_name: str, declared: str | None = None) -> str:
    """Return the declared media type, else the one of the file name's ending.

    An unknown ending gives `application/octet-stream`.
    """
    return declared or _ENDINGS.get(PurePosixPath(file_name).suffix.lower(), "application/octet-stream")


def resolve_data_format(file: SourceFile) -> DataFormat | None:
    """Return the format by the media type, or by the name's ending for a generic type; None if unknown.

    The content is not read.
    """
    plain = file.media_type.partition(";")[0].strip().lower()
    return _FORMATS.get(resolve_media_type(file.name) if plain in _GENERIC_TYPES else plain)


def find_unsupported_charset(file: SourceFile) -> str | None:
    """Return the character set that the media type names if it is not UTF-8 or ASCII, else None.

    Parquet has no character set.
    """
    if resolve_data_format(file) is DataFormat.PARQUET:
        return None
    header = Message()
    header["Content-Type"] = file.media_type
    named = header.get_content_charset()
    return None if named is None or named in _UTF_8_NAMES else named


Content = bytes | str | Path
"""Content of a file as bytes, or the path to read it from."""

_PIECE = 1 << 20
_FOLDER_MODE, _FILE_MODE = 0o711, 0o644
"""Modes that let a worker under another user read the files; the folder's name is random."""


class UnusableFile(ValueError):
    """Error for a file that cannot be examined; the message names the file and the fix."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """File of raw data as a caller gives it: content or path, and its owner."""

    name: str
    media_type: str | None
    """Declared media type; None if the name's ending decides."""
    content: Content
    owner: DataOwner

    @contextmanager
    def open(self) -> Iterator[BufferedReader | BytesIO]:
        """Open the content for reading in binary mode. Raises `UnusableFile` for an unreadable path."""
        if isinstance(self.content, bytes):
            yield BytesIO(self.content)
            return
        try:
            with Path(self.content).open("rb") as file:
                yield file
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise UnusableFile(f"{self.name}: {self.content} cannot be read: {why}; check the path") from None


def decode_candidate_files(artifacts: Sequence[Artifact]) -> tuple[InputFile, ...]:
    """Return the artifacts of a candidate as the agent's files, with decoded content.

    Raises `UnusableFile` for an artifact that only names the digest of an upload.
    """
    found = []
    for each in artifacts:
        if each.content is None and each.content_base64 is None:
            message = f"artifact {each.name}: the digest of an upload, which only a service can look up"
            raise UnusableFile(f"{message}; give its content, as content or content_base64")
        content = (each.content or "").encode() if each.content_base64 is None else b64decode(each.content_base64)
        found.append(InputFile(each.name, each.media_type, content, DataOwner.AGENT))
    return tuple(found)


def verify_consumer_files(declared_files: Sequence[DataFile], contents: Mapping[str, Content]) -> tuple[InputFile, ...]:
    """Check `contents`, by file name, against the work's declaration; return them as the consumer's files.

    `declared_files`: the work's `science.data`. Raises `UnusableFile` if one of them has no content or another SHA-256
    digest than declared. Contents that the work does not declare are accepted.
    """
    declared = {each.name: each for each in declared_files}
    missing = sorted(set(declared) - set(contents))
    if missing:
        raise UnusableFile(f"science.data names {', '.join(missing)}: give what is in it, under that name")
    files = [
        InputFile(name, declared[name].media_type if name in declared else None, content, DataOwner.CONSUMER)
        for name, content in contents.items()
    ]
    for file in files:
        expected = declared[file.name].sha256 if file.name in declared else None
        if expected is not None:
            with file.open() as opened:
                found = file_digest(opened, "sha256").hexdigest()
            if found != expected:
                raise UnusableFile(f"{file.name}: its SHA-256 is {found}, the work's data have {expected}")
    return tuple(files)


@contextmanager
def stage_temporary_copies(files: Sequence[InputFile], max_bytes: int) -> Iterator[tuple[SourceFile, ...]]:
    """Copy the files to a temporary folder, which is deleted at the end of the block.

    A file larger than `max_bytes` is cut to one byte more: that byte makes the examination refuse it. Raises
    `UnusableFile` for an unreadable file.
    """
    with TemporaryDirectory(prefix="aex-science-") as folder:
        Path(folder).chmod(_FOLDER_MODE)
        staged = []
        for number, file in enumerate(files):
            target, left = Path(folder) / str(number), max_bytes + 1
            with file.open() as source, target.open("wb") as copy:
                while left > 0 and (piece := source.read(min(left, _PIECE))):
                    left -= copy.write(piece)
            target.chmod(_FILE_MODE)
            media_type = resolve_media_type(file.name, file.media_type)
            staged.append(SourceFile(file.name, media_type, str(target), file.owner))
        yield tuple(staged)
