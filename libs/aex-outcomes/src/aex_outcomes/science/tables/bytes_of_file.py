"""What a file's first bytes say of it, before anything parses it."""

import codecs
import stat
from pathlib import Path

from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.source import Format, SourceFile
from aex_outcomes.science.tables.errors import DataError

_KNOWN = (
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
_WIDE = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEAD = 16
REFUSED = {Format.CSV: "not_csv", Format.TSV: "not_csv", Format.JSON_LINES: "not_jsonl", Format.PARQUET: "not_parquet"}
"""The code of a file that is something else than it says."""


def real_path(file: SourceFile, limits: DataLimits) -> str:
    """Where the file lies. Raises `DataError` for none, an empty and a large one."""
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


def check_is_text(path: str, form: Format) -> None:
    """Raises `DataError` for what is known to be no text in UTF-8."""
    with Path(path).open("rb") as opened:
        head = opened.read(_HEAD)
    for magic, what in _KNOWN:
        if head.startswith(magic):
            raise DataError(REFUSED[form], f"this is {what}, not {form}: give it unpacked, as {form}")
    if head.startswith(_WIDE):
        raise DataError("not_utf8", "this is UTF-16 or UTF-32: save it as UTF-8")
