"""Files of raw data for one examination: their formats, and their copies for a confined worker."""

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
    """A local file for one job. Its name comes from its sender and opens nothing."""

    name: str
    media_type: str
    path: str
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
"""Media types without information on the content: the ending of the name decides."""
_UTF_8_NAMES = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
_ENDINGS = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".jsonl": "application/jsonl",
    ".ndjson": "application/x-ndjson",
    ".parquet": "application/vnd.apache.parquet",
}
ENDINGS = tuple(_ENDINGS)
"""Endings of names of readable files."""


def media_type_of(name: str, declared: str | None = None) -> str:
    """Return the declared media type, or the one of the name's ending; a generic one for other endings."""
    return declared or _ENDINGS.get(PurePosixPath(name).suffix.lower(), "application/octet-stream")


def format_of(file: SourceFile) -> DataFormat | None:
    """Return the format of the file; None for an unreadable one."""
    plain = file.media_type.partition(";")[0].strip().lower()
    return _FORMATS.get(media_type_of(file.name) if plain in _GENERIC_TYPES else plain)


def foreign_charset(file: SourceFile) -> str | None:
    """Return the character set of the media type, unless it is UTF-8 or ASCII."""
    if format_of(file) is DataFormat.PARQUET:
        return None
    header = Message()
    header["Content-Type"] = file.media_type
    named = header.get_content_charset()
    return None if named is None or named in _UTF_8_NAMES else named


Content = bytes | str | Path
"""The bytes, or the path of a file."""

_PIECE = 1 << 20
_FOLDER_MODE, _FILE_MODE = 0o711, 0o644
"""Modes that let a worker under another user read the files; the folder's name is random."""


class UnusableFile(ValueError):
    """A named file that cannot be examined here; the message says what to do."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of raw data and its owner."""

    name: str
    media_type: str | None
    """Media type; None derives it from the name's ending."""
    content: Content
    owner: DataOwner

    @contextmanager
    def open(self) -> Iterator[BufferedReader | BytesIO]:
        """Open the content. Raises `UnusableFile` for an unreadable file."""
        if isinstance(self.content, bytes):
            yield BytesIO(self.content)
            return
        try:
            with Path(self.content).open("rb") as file:
                yield file
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise UnusableFile(f"{self.name}: {self.content} cannot be read: {why}; check the path") from None


def candidate_files(artifacts: Sequence[Artifact]) -> tuple[InputFile, ...]:
    """Return a candidate's artifacts. Raises `UnusableFile` for the digest of an upload."""
    found = []
    for each in artifacts:
        if each.content is None and each.content_base64 is None:
            message = f"artifact {each.name}: the digest of an upload, which only a service can look up"
            raise UnusableFile(f"{message}; give its content, as content or content_base64")
        content = (each.content or "").encode() if each.content_base64 is None else b64decode(each.content_base64)
        found.append(InputFile(each.name, each.media_type, content, DataOwner.AGENT))
    return tuple(found)


def consumer_files(named: Sequence[DataFile], data: Mapping[str, Content]) -> tuple[InputFile, ...]:
    """Return the files that the work's `science.data` names, and further files of the consumer.

    Raises `UnusableFile` for a missing file, and for one with another digest than the work's.
    """
    declared = {each.name: each for each in named}
    missing = sorted(set(declared) - set(data))
    if missing:
        raise UnusableFile(f"science.data names {', '.join(missing)}: give what is in it, under that name")
    files = [
        InputFile(name, declared[name].media_type if name in declared else None, content, DataOwner.CONSUMER)
        for name, content in data.items()
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
def stage_files(files: Sequence[InputFile], max_bytes: int) -> Iterator[tuple[SourceFile, ...]]:
    """Copy the files for the duration of the block; too large ones only to one byte beyond `max_bytes`.

    That byte suffices for the examination to refuse them.
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
            media_type = media_type_of(file.name, file.media_type)
            staged.append(SourceFile(file.name, media_type, str(target), file.owner))
        yield tuple(staged)
