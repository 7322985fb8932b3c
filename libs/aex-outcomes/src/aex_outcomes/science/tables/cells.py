"""What a cell of a text file is: missing, a number, a number that is not finite, or a text.

A number is written in ASCII digits: an optional sign, digits with at most one decimal point, an optional exponent;
blanks and tabs around it do not count. Thousands separators, decimal commas, underscores, hexadecimal and other digits
make a text. The database's own cast would take `1_000`, which is why the pattern decides and the cast only converts.
"""

# ruff: noqa: S608 SQL is put together from this package's own words; names and values go as parameters

from collections.abc import Sequence

from aex_models.statistics import MISSING_WORDS

MISSING, NUMBER, NOT_FINITE, TEXT, UNREADABLE = 0, 1, 2, 3, 4
"""Unreadable: it is there, and is neither a number nor a text but a list, an object, bytes."""
NOT_FINITE_WORDS = ("nan", "+nan", "-nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity")

TEXT_MARK = '"'
"""Before a cell that is a text whatever it looks like: a JSON string of digits."""

_PATTERN = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


NESTED_MARK = "{"
"""Instead of a JSON array or object, beside marked texts alone."""


def kind_of(cell: str, *, marked: bool = False) -> str:
    """SQL: the kind of the trimmed text that the SQL `cell` gives."""
    nested = f"WHEN {cell} = '{NESTED_MARK}' THEN {UNREADABLE} " if marked else ""
    return (
        f"CASE {nested}WHEN {cell} IN {MISSING_WORDS} THEN {MISSING} "
        f"WHEN regexp_full_match({cell}, '{_PATTERN}') "
        f"THEN CASE WHEN isinf(TRY_CAST({cell} AS DOUBLE)) THEN {NOT_FINITE} ELSE {NUMBER} END "
        f"WHEN lower({cell}) IN {NOT_FINITE_WORDS} THEN {NOT_FINITE} ELSE {TEXT} END"
    )


def insertion(with_text: Sequence[bool], *, marked: bool) -> str:
    """SQL: add a batch of rows to `cells`; a parameter a column, its cells joined by `SEPARATOR`.

    Joined, since a list of a million texts costs ten times as much to hand over as one text. `with_text`: of each
    column, whether its texts are kept beside its numbers. `marked`: whether texts carry the `TEXT_MARK`.
    """
    places = range(len(with_text))
    split = ", ".join(f"unnest(string_split(${place + 1}, chr({ord(SEPARATOR)}))) AS r{place}" for place in places)
    trimmed = ", ".join(f"trim(r{place}, ' ' || chr(9)) AS c{place}" for place in places)
    kinds = ", ".join(f"c{place}, {kind_of(f'c{place}', marked=marked)} AS k{place}" for place in places)
    stored = ", ".join(_stored(place, text, marked) for place, text in enumerate(with_text))
    return (
        f"INSERT INTO cells WITH split AS (SELECT {split}), trimmed AS MATERIALIZED (SELECT {trimmed} FROM split), "
        f"sorted AS (SELECT {kinds} FROM trimmed) SELECT {stored} FROM sorted"
    )


def _stored(place: int, with_text: bool, marked: bool) -> str:
    number = f"CASE WHEN k{place} = {NUMBER} THEN TRY_CAST(c{place} AS DOUBLE) END"
    if not with_text:
        return f"k{place}, {number}, NULL"
    plain = f"CASE WHEN starts_with(c{place}, '{TEXT_MARK}') THEN substr(c{place}, 2) ELSE c{place} END"
    text = plain if marked else f"c{place}"
    return f"k{place}, {number}, CASE WHEN k{place} NOT IN ({MISSING}, {UNREADABLE}) THEN {text} END"


SEPARATOR = "\x1f"
"""The ASCII unit separator: no table has it, and one that does is refused."""
