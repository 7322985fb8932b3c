"""SQL types of table columns, and conversion of JSON values to values of these types.

Only listed types are accepted. The text of a type is composed of its parts, so that no text of a work becomes SQL.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from aex_outcomes.kernels.sql_values import CONVERSIONS, convert_decimal, convert_integer, require_fit

_TOKENS = re.compile(r'\s*("(?:[^"]|"")+"|\w+|[(),\[\]])')
_MAX_DEPTH = 8
_MAX_DIGITS = 38
_INTEGERS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
_ALIASES = {
    **dict.fromkeys(("INT1",), "TINYINT"),
    **dict.fromkeys(("INT2", "SHORT"), "SMALLINT"),
    **dict.fromkeys(("INT4", "INT", "SIGNED"), "INTEGER"),
    **dict.fromkeys(("INT8", "LONG"), "BIGINT"),
    **dict.fromkeys(("INT128",), "HUGEINT"),
    **dict.fromkeys(("NUMERIC", "DEC"), "DECIMAL"),
    **dict.fromkeys(("REAL", "FLOAT4"), "FLOAT"),
    **dict.fromkeys(("FLOAT8", "DOUBLE PRECISION"), "DOUBLE"),
    **dict.fromkeys(("BOOL", "LOGICAL"), "BOOLEAN"),
    **dict.fromkeys(("TEXT", "STRING", "CHAR", "BPCHAR", "NVARCHAR", "CHARACTER VARYING"), "VARCHAR"),
    **dict.fromkeys(("BYTEA", "BINARY", "VARBINARY"), "BLOB"),
    **dict.fromkeys(("DATETIME", "TIMESTAMP WITHOUT TIME ZONE"), "TIMESTAMP"),
    **dict.fromkeys(("TIMESTAMP WITH TIME ZONE",), "TIMESTAMPTZ"),
}
"""Accepted names of a type, and the name that is used."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """SQL type of a column."""

    sql: str
    """Type in SQL."""
    convert: Callable[[Any], Any]
    """Function that converts a JSON value other than null to a parameter of a statement.

    Raises `ValueError` if the value does not fit the type.
    """
    structure: Any = "VARCHAR"
    """Structure of a list or struct as DuckDB's `from_json_strict` takes it; its scalars are texts."""

    @property
    def is_nested(self) -> bool:
        """Return True for a list or struct, whose values are passed as JSON."""
        return not isinstance(self.structure, str)


def parse_column_type(text: str) -> ColumnType | None:
    """Return the type that a text names, such as `DECIMAL(10, 2)` or `STRUCT(a INTEGER, b VARCHAR[])`.

    Returns None for a text that names no accepted type.
    """
    tokens: list[str] = []
    position = 0
    stripped = text.rstrip()
    while position < len(stripped):
        found = _TOKENS.match(stripped, position)
        if found is None:
            return None
        tokens.append(found.group(1))
        position = found.end()
    try:
        parsed = _parse_type(tokens, _MAX_DEPTH)
    except (ValueError, IndexError):
        return None
    return None if tokens else parsed


def _parse_type(tokens: list[str], depth: int) -> ColumnType:
    """Parse a type and remove its tokens. Raises `ValueError` and `IndexError`."""
    if depth == 0:
        raise ValueError("nested too deeply")
    words = [tokens.pop(0).upper()]
    if words == ["STRUCT"]:
        parsed = _parse_struct(tokens, depth)
    else:
        while tokens and tokens[0].upper() in {"PRECISION", "VARYING", "WITH", "WITHOUT", "TIME", "ZONE"}:
            words.append(tokens.pop(0).upper())
        name = " ".join(words)
        parsed = _build_scalar(_ALIASES.get(name, name), _parse_arguments(tokens))
    while tokens[:1] == ["["]:
        if tokens.pop(0) != "[" or tokens.pop(0) != "]" or parsed.sql.count("[]") >= _MAX_DEPTH:
            raise ValueError("no list")
        parsed = ColumnType(f"{parsed.sql}[]", partial(_convert_list, parsed), [parsed.structure])
    return parsed


def _parse_arguments(tokens: list[str]) -> tuple[int, ...]:
    if tokens[:1] != ["("]:
        return ()
    end = tokens.index(")")
    inner = tokens[1:end]
    del tokens[: end + 1]
    if not inner or any(each != "," for each in inner[1::2]) or len(inner) % 2 == 0:
        raise ValueError("no arguments")
    return tuple(int(each) for each in inner[::2])


def _parse_struct(tokens: list[str], depth: int) -> ColumnType:
    fields: dict[str, ColumnType] = {}
    separator = tokens.pop(0)
    if separator != "(":
        raise ValueError("no fields")
    while separator != ")":
        name = tokens.pop(0)
        name = name[1:-1].replace('""', '"') if name.startswith('"') else name
        if not re.search(r"\w", name) or name.casefold() in {each.casefold() for each in fields}:
            raise ValueError("no name of a field")
        fields[name] = _parse_type(tokens, depth - 1)
        separator = tokens.pop(0)
        if separator not in {",", ")"}:
            raise ValueError("no separator")
    listed = ", ".join(f"{quote_identifier(name)} {each.sql}" for name, each in fields.items())
    structure = {name: each.structure for name, each in fields.items()}
    return ColumnType(f"STRUCT({listed})", partial(_convert_struct, fields), structure)


def quote_identifier(name: str) -> str:
    """Return the name as a quoted identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _build_scalar(name: str, arguments: tuple[int, ...]) -> ColumnType:
    if name == "DECIMAL":
        width, scale = {0: (18, 3), 1: (*arguments, 0)}.get(len(arguments), arguments)
        if not (1 <= width <= _MAX_DIGITS and 0 <= scale <= width):
            raise ValueError("no such decimal")
        sql = f"DECIMAL({width},{scale})"
        return ColumnType(sql, partial(convert_decimal, width, scale))
    if arguments and not (name == "VARCHAR" and len(arguments) == 1):  # its length has no effect
        raise ValueError("no arguments are expected")
    unsigned = name.removeprefix("U")
    if name in _INTEGERS:
        bits = _INTEGERS[name] - 1
        return ColumnType(name, partial(convert_integer, -(2**bits), 2**bits - 1))
    if name.startswith("U") and unsigned in _INTEGERS:
        return ColumnType(name, partial(convert_integer, 0, 2 ** _INTEGERS[unsigned] - 1))
    return ColumnType(name, CONVERSIONS[name] if name in CONVERSIONS else _refuse(name))


def _refuse(name: str) -> Callable[[Any], Any]:
    raise ValueError(f"no type {name}")


def _convert_list(item: ColumnType, value: Any) -> list[Any]:
    require_fit(isinstance(value, list | tuple))
    return [None if each is None else _to_text(item.convert(each)) for each in value]


def _convert_struct(fields: Mapping[str, ColumnType], value: Any) -> dict[str, Any]:
    require_fit(isinstance(value, Mapping) and fields.keys() >= value.keys())
    present = {name: value.get(name) for name in fields}
    return {name: None if each is None else _to_text(fields[name].convert(each)) for name, each in present.items()}


def _to_text(parameter: Any) -> Any:
    """Return a parameter inside a list or struct as the text that the database casts to its type."""
    if isinstance(parameter, bytes):
        return "".join(f"\\x{byte:02X}" for byte in parameter)
    return parameter if isinstance(parameter, list | dict) else str(parameter)
