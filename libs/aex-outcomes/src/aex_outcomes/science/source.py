"""A file of raw data that one examination reads."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from aex_models.science import DataOwner


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
    "application/csv": Format.CSV,
    "text/tab-separated-values": Format.TSV,
    "text/tsv": Format.TSV,
    "application/jsonl": Format.JSON_LINES,
    "application/jsonlines": Format.JSON_LINES,
    "application/x-jsonlines": Format.JSON_LINES,
    "application/x-ndjson": Format.JSON_LINES,
    "application/ndjson": Format.JSON_LINES,
    "application/vnd.apache.parquet": Format.PARQUET,
    "application/x-parquet": Format.PARQUET,
    "application/parquet": Format.PARQUET,
}
_UNTOLD = frozenset({"application/octet-stream", "text/plain"})
"""Media types that say nothing of what is inside: the name's ending does."""
_ENDINGS = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".jsonl": "application/jsonl",
    ".ndjson": "application/x-ndjson",
    ".parquet": "application/vnd.apache.parquet",
}


def media_type_of(name: str) -> str:
    """By the name's ending; of any other ending a type that is not read."""
    return _ENDINGS.get(PurePosixPath(name).suffix.lower(), "application/octet-stream")


def format_of(file: SourceFile) -> Format | None:
    """How the file says it is written; None where that is nothing that is read."""
    plain = file.media_type.partition(";")[0].strip().lower()
    return _MEDIA_TYPES.get(media_type_of(file.name) if plain in _UNTOLD else plain)
