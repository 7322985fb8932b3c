"""A file of raw data that one examination reads."""

from dataclasses import dataclass
from email.message import Message
from enum import StrEnum
from pathlib import PurePosixPath

from aex_models.examination import DataOwner


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A local file that only this job reads. Its name is whatever its sender chose: it opens nothing."""

    name: str
    media_type: str
    path: str
    owner: DataOwner


class Format(StrEnum):
    """How a file of raw data is written."""

    CSV = "CSV"
    TSV = "TSV"
    JSON_LINES = "JSON lines"
    PARQUET = "Parquet"


_MEDIA_TYPES = {
    "text/csv": Format.CSV,
    "text/x-csv": Format.CSV,
    "text/comma-separated-values": Format.CSV,
    "application/csv": Format.CSV,
    "application/x-csv": Format.CSV,
    "text/tab-separated-values": Format.TSV,
    "text/tsv": Format.TSV,
    "text/x-tsv": Format.TSV,
    "text/jsonl": Format.JSON_LINES,
    "text/x-ndjson": Format.JSON_LINES,
    "application/jsonl": Format.JSON_LINES,
    "application/x-jsonl": Format.JSON_LINES,
    "application/jsonlines": Format.JSON_LINES,
    "application/x-jsonlines": Format.JSON_LINES,
    "application/json-lines": Format.JSON_LINES,
    "application/x-json-lines": Format.JSON_LINES,
    "application/x-ndjson": Format.JSON_LINES,
    "application/ndjson": Format.JSON_LINES,
    "application/vnd.apache.parquet": Format.PARQUET,
    "application/x-parquet": Format.PARQUET,
    "application/parquet": Format.PARQUET,
}
_UNTOLD = frozenset({"application/octet-stream", "application/json", "text/plain"})
"""Media types that say nothing of what is inside: the name's ending does."""
_UTF_8 = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
_ENDINGS = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".jsonl": "application/jsonl",
    ".ndjson": "application/x-ndjson",
    ".parquet": "application/vnd.apache.parquet",
}


ENDINGS = tuple(_ENDINGS)
"""Of the names of files that are read by them."""
MEDIA_TYPES = ("text/csv", "text/tab-separated-values", "application/jsonl", "application/vnd.apache.parquet")
"""The usual one of each format."""


def media_type_of(name: str, told: str | None = None) -> str:
    """The one that was told, or else by the name's ending; of any other ending a type that is not read."""
    return told or _ENDINGS.get(PurePosixPath(name).suffix.lower(), "application/octet-stream")


def format_of(file: SourceFile) -> Format | None:
    """How the file says it is written; None where that is nothing that is read."""
    plain = file.media_type.partition(";")[0].strip().lower()
    return _MEDIA_TYPES.get(media_type_of(file.name) if plain in _UNTOLD else plain)


def foreign_charset(file: SourceFile) -> str | None:
    """The character set that its media type names, where that is not how texts are read here: UTF-8, or ASCII."""
    if format_of(file) is Format.PARQUET:
        return None
    header = Message()
    header["Content-Type"] = file.media_type
    named = header.get_content_charset()
    return None if named is None or named in _UTF_8 else named
