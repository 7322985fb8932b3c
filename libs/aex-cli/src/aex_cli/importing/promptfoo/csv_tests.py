"""Tests of promptfoo in CSV files.

A column is a variable, and columns `__expected` hold assertions as texts.
"""

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aex_cli.importing.promptfoo.assertions import KNOWN_TYPES
from aex_cli.importing.rows import MAX_BYTES, MAX_ROWS
from aex_runtime.commandline import UserError

_ASSERTION = re.compile(
    r"(?P<negation>not-)?(?P<kind>[a-z][a-z0-9:-]*?)(?:\((?P<threshold>\d+(?:\.\d+)?)\))?(?::(?P<value>.*))?", re.DOTALL
)
_OTHER_NAMES = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}
_WITH_THRESHOLD = frozenset({"cost", "latency", "levenshtein", "starts-with"})
_DEFAULT_THRESHOLD = 0.75
_MAX_FIELD = 10_000_000


def read_csv_tests(path: Path) -> list[dict[str, Any]]:
    """Read a CSV file as tests with vars and assert.

    Raises `UserError` for a file that is no CSV of UTF-8 text, and for a column that only other formats can express.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{path} has more than {MAX_BYTES // 1_000_000} MB", "import it in parts")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text", "save it as UTF-8") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", "check the path given to --data") from None
    csv.field_size_limit(_MAX_FIELD)
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise UserError(f"{path} is no CSV: {error}", "correct it, or write YAML") from None
    if not rows or len(rows) > MAX_ROWS:
        raise UserError(f"{path} has {len(rows)} rows", f"give 1 to {MAX_ROWS} rows below a line of column names")
    return [_build_test(path, number, row) for number, row in enumerate(rows, start=1)]


def _build_test(path: Path, number: int, row: Mapping[str | None, Any]) -> dict[str, Any]:
    if None in row or None in row.values():
        raise UserError(f"{path} row {number} has not as many fields as columns", "add or quote the missing ones")
    test: dict[str, Any] = {"vars": {}, "assert": [], "options": {}}
    for column, value in row.items():
        name = str(column)
        if name.startswith("__expected"):
            test["assert"] += [parse_assertion(value)] if value.strip() else []
        elif name in {"__prefix", "__suffix"}:
            test["options"][name.removeprefix("__")] = value
        elif name == "__threshold":
            test |= {"threshold": _parse_threshold(value)} if value.strip() else {}
        elif name.startswith("__") and not name.startswith(
            ("__description", "__metadata:", "__metric", "__providerOutput")
        ):
            raise UserError(f"{path} has the column {name}, which CSV import does not know", "write the tests as YAML")
        elif not name.startswith("__"):
            test["vars"][name] = value
    return test


def _parse_threshold(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text  # the import of the test refuses it


def parse_assertion(text: str) -> dict[str, Any]:
    """Return the assertion that a text such as `not-contains: error` describes.

    A text without a type demands that the output equals it.
    """
    found = _ASSERTION.fullmatch(text)
    kind = found and _OTHER_NAMES.get(found["kind"], found["kind"])
    if text.startswith("file://") or not found or not kind or not _is_type(kind):
        return {"type": "equals", "value": text}
    assertion: dict[str, Any] = {"type": f"{found['negation'] or ''}{kind}"}
    if found["value"] is not None:
        assertion["value"] = found["value"].strip() if kind in {"python", "javascript"} else found["value"]
    if kind in _WITH_THRESHOLD:
        assertion["threshold"] = float(found["threshold"] or 0) or _DEFAULT_THRESHOLD
    return assertion


def _is_type(kind: str) -> bool:
    """Return True for a type of any version: a known one, or an unknown one with a dash or colon within."""
    return kind in KNOWN_TYPES or re.search(r"[a-z0-9][:-][a-z]", kind) is not None
