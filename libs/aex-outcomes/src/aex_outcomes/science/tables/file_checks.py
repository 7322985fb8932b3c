"""Errors of raw data, names in messages, and checks of a file before it is parsed."""

import codecs
import stat
from collections.abc import Iterable
from pathlib import Path

from aex_models.examination import DataOwner
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.source_files import DataFormat, SourceFile

_NAMES, _CHARACTERS = 20, 60
_MAGIC_NUMBERS = (
    (b"PK\x03\x04", "a zip archive (a workbook of a spreadsheet is one, too)"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"PAR1", "Parquet"),
    (b"PARE", "encrypted Parquet"),
    (b"ARROW1", "Arrow"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x89HDF\r\n", "HDF5"),
    (b"\xd0\xcf\x11\xe0", "an old workbook of a spreadsheet"),
    (b"%PDF-", "PDF"),
    (b"\x89PNG", "a picture"),
)
_WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
WRONG_FORMAT_CODES = {
    DataFormat.CSV: "not_csv",
    DataFormat.TSV: "not_csv",
    DataFormat.JSON_LINES: "not_jsonl",
    DataFormat.PARQUET: "not_parquet",
}
"""Error code for a file whose content is not of the declared format."""


class DataError(Exception):
    """Error of an unusable file, or of a statistic that cannot be computed; `code` is sent to callers."""

    def __init__(self, code: str, message: str, *, column: str | None = None, owner: DataOwner | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.column = column
        """The column that it is about, if one."""
        self.owner = owner
        """The owner of the data that it is about; None: of the whole table, or of its column."""


def out_of_memory_error() -> DataError:
    message = "reading the data took more memory than there is for it; give fewer rows or columns"
    return DataError("out_of_memory", message)


def quote_name_for_message(name: str) -> str:
    """Put a sender's name in quotes for a message, cut at 60 characters, with `?` for unprintable ones."""
    printable = "".join(letter if letter.isprintable() else "?" for letter in name[: _CHARACTERS + 1])
    return f'"{printable[:_CHARACTERS]}…"' if len(printable) > _CHARACTERS else f'"{printable}"'


def quote_names_for_message(names: Iterable[str]) -> str:
    """Return the first twenty names in quotes for a message, and the number of further ones."""
    every = list(names)
    more = f" and {len(every) - _NAMES} more" if len(every) > _NAMES else ""
    return ", ".join(map(quote_name_for_message, every[:_NAMES])) + more


def check_file_and_resolve_path(file: SourceFile, limits: DataLimits) -> str:
    """Return the file's path with symbolic links resolved.

    Raises `DataError` for a file that is missing, empty, too large or no plain file.
    """
    path = Path(file.path).resolve()
    try:
        found = path.stat()
    except OSError:
        raise DataError("artifact_missing", "the file is not there") from None
    if not stat.S_ISREG(found.st_mode):
        raise DataError("artifact_missing", "this is no plain file")
    if found.st_size == 0:
        raise DataError("empty_file", "the file is empty: give a header and rows")
    if found.st_size > limits.max_bytes:
        raise DataError("too_large", f"more than {limits.max_bytes} bytes: give fewer rows or columns, or Parquet")
    return str(path)


def refuse_known_binary(path: str, form: DataFormat) -> None:
    """Raise `DataError` if the file begins as a known binary format, or as UTF-16 or UTF-32.

    `form`: the declared format, for the message.
    """
    with Path(path).open("rb") as opened:
        head = opened.read(max(len(magic) for magic, _ in _MAGIC_NUMBERS))
    for magic, description in _MAGIC_NUMBERS:
        if head.startswith(magic):
            raise DataError(WRONG_FORMAT_CODES[form], f"this is {description}, not {form}: give it unpacked, as {form}")
    if head.startswith(_WIDE_MARKS):
        raise DataError("not_utf8", "this is UTF-16 or UTF-32: save it as UTF-8")
