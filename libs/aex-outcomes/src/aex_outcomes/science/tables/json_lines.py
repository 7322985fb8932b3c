"""JSON lines: an object a line, one level deep; a key that a line leaves out is a missing value there."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from aex_models.statistics import MISSING_WORDS
from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.source import Format
from aex_outcomes.science.tables.bytes_of_file import check_is_text
from aex_outcomes.science.tables.cells import NESTED_MARK, SEPARATOR, TEXT_MARK
from aex_outcomes.science.tables.delimited import BATCH_CELLS, check_names
from aex_outcomes.science.tables.errors import DataError, quoted
from aex_outcomes.science.tables.lines import lines_of

_BLANK = " \t\r\n"


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def keys_of(path: str, limits: DataLimits) -> tuple[str, ...]:
    """Every key of the file, in the order in which they come. Raises `DataError`: all lines are looked at."""
    check_is_text(path, Format.JSON_LINES)
    keys: dict[str, None] = {}
    for record in _records(path, limits):
        if not record.keys() <= keys.keys():
            keys |= dict.fromkeys(record)
            if len(keys) > limits.max_columns:
                raise DataError("too_many_columns", f"more than {limits.max_columns} keys: leave some out")
    if not keys:
        raise DataError("no_rows", "there is no row in it")
    check_names(tuple(keys), limits)
    return tuple(keys)


def batches_of(path: str, keys: Sequence[str], limits: DataLimits) -> Iterator[list[tuple[str, ...]]]:
    """All rows, some at a time, key by key, as cells of a text file whose texts are marked."""
    size = max(1, BATCH_CELLS // max(1, len(keys)))
    batch: list[tuple[str, ...]] = []
    for record in _records(path, limits):
        batch.append(tuple(_cell(record.get(key)) for key in keys))
        if len(batch) == size:
            yield list(zip(*batch, strict=True))
            batch = []
    if batch:
        yield list(zip(*batch, strict=True))


def _records(path: str, limits: DataLimits) -> Iterator[dict[str, Any]]:
    with lines_of(path, limits, "not_jsonl") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip(_BLANK):
                yield _parsed(line, number)


def _parsed(line: str, number: int) -> dict[str, Any]:
    try:
        record = _DECODER.decode(line.strip(_BLANK))
    except DuplicateKey as error:
        raise DataError("duplicate_column", f"line {number} has the key {quoted(error.key)} twice") from None
    except (ValueError, RecursionError):
        raise DataError("not_jsonl", f"line {number} is no JSON object: give one object a line") from None
    if not isinstance(record, dict):
        raise DataError("not_jsonl", f"line {number} is no JSON object: give one object a line")
    return record


class DuplicateKey(Exception):
    """An object has a key twice: which of the values counts, readers disagree."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise DuplicateKey(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_Number, parse_float=_Number, parse_constant=_Number)


def _cell(value: Any) -> str:
    """NaN and Infinity, which JSON does not have and many writers give, are numbers that are not finite."""
    if value is None:
        return ""
    if isinstance(value, _Number):
        return value
    if isinstance(value, bool):
        return TEXT_MARK + str(value).lower()
    if not isinstance(value, str):
        return NESTED_MARK
    plain = value.replace(SEPARATOR, "\ufffd").encode("utf-8", "replace").decode().strip(_BLANK)
    return "" if plain in MISSING_WORDS else TEXT_MARK + plain
