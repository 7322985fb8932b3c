r"""Numbers in texts, the units behind them, and their comparison in exact decimal arithmetic.

Grammar of a number in a text, in Wirth's notation:

    number   = [sign] [currency] digits [exponent].
    sign     = "+" | "-" | "−".
    currency = "$" | "£" | "€" | further currency signs.
    digits   = integer ["." {digit}] | "." digit {digit}.
    integer  = digit {digit} | group {"," digit digit digit}.
    group    = one to three digits, of which the first is not "0".
    exponent = ("e" | "E") [sign] digit {digit}.

Nothing touches a number on the left: it begins the text, or follows white space. Only marks of a quotation or of
emphasis (`**42**`) may stand between, and `\boxed{` counts as white space. On the right no digit follows, also not
behind a point or comma: 1.2.3 and 1,23 are no numbers. Reading takes time linear in the text's length.
"""

import re
import unicodedata
from collections.abc import Iterable
from decimal import Context, Decimal
from typing import NamedTuple

_CURRENCY = "$¢£¤¥֏؋৲৳৻૱௹฿៛\u20a0-\u20cf﷼﹩＄￠￡￥￦"
_NUMBER = rf"""
    (?:(?<!\S)|(?<=\\boxed\{{))
    [*`"'“‘«]*+
    (?P<sign>[-+−]?)[{_CURRENCY}]?
    (?P<integer>[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})++(?![0-9])|[0-9]++|(?=\.[0-9]))
    (?P<decimals>(?:\.[0-9]++)?+)
    (?:[eE](?P<exponent>[-+−]?[0-9]++))?+
    (?![.,]?[0-9])
"""
_BEFORE_UNIT = re.compile(_NUMBER, re.VERBOSE)
_WITHOUT_UNIT = re.compile(rf"{_NUMBER}(?![\w%‰])", re.VERBOSE)
"""Number that no letter and no percent sign touches on the right."""
_MINUS = str.maketrans("−", "-", ",")
_MAX_EXPONENT_DIGITS = 9
_EXTREME_EXPONENT = "9" * _MAX_EXPONENT_DIGITS
"""Exponent that replaces a longer one; both are far beyond every expected number and tolerance."""
_EXACT = Context(prec=10_000, Emax=10**9, Emin=-(10**9))
"""Context in which sums and products of two doubles are exact."""
_CLOSING = re.compile(r"[*`”’»}]*[^\S\n\r]*")
"""Marks of emphasis or quotation, and blanks in the same line."""
_MAX_UNIT_TEXT = 2_000
_JOINED = re.compile(r"\w|[-/^·*.’'‑]\w")
"""Characters behind a unit that make it the beginning of a longer one, as in kg/m and m2."""
_UNIT_SYMBOL = re.compile(r"[\w%‰°′]")


class TextNumber(NamedTuple):
    """Number in a text, and the position behind it."""

    value: Decimal
    end: int


def find_last_number(text: str, *, may_have_unit: bool) -> TextNumber | None:
    """Return the last number of a text; None if it has none.

    `may_have_unit`: a letter or percent sign may touch the number on the right, else such a number is skipped.
    """
    last = None
    for last in (_BEFORE_UNIT if may_have_unit else _WITHOUT_UNIT).finditer(text):  # noqa: B007 the last one counts
        pass
    if last is None:
        return None
    sign, integer, decimals, exponent = last.group("sign", "integer", "decimals", "exponent")
    digits = f"{sign}{integer or 0}{decimals}e{_bounded_exponent(exponent or '0')}"
    return TextNumber(Decimal(digits.translate(_MINUS)), last.end())


def _bounded_exponent(exponent: str) -> str:
    sign, digits = ("-", exponent[1:]) if exponent[0] in "-−" else ("", exponent.lstrip("+"))
    digits = digits.lstrip("0") or "0"
    return sign + (digits if len(digits) <= _MAX_EXPONENT_DIGITS else _EXTREME_EXPONENT)


def to_decimal(number: float) -> Decimal:
    """Return a finite JSON number as the decimal of the shortest text of its double, such as 0.1."""
    return Decimal(repr(float(number)))


def is_within_tolerance(value: Decimal, expected: float, absolute: float, relative: float) -> bool:
    """Return True if the value differs from the expected number by at most the larger tolerance.

    `relative` is a share of the expected number. The comparison is exact, also for a value such as 1e999999.
    """
    center = to_decimal(expected)
    tolerance = max(to_decimal(absolute), _EXACT.multiply(to_decimal(relative), abs(center)))
    return _EXACT.subtract(center, tolerance) <= value <= _EXACT.add(center, tolerance)


def has_unit_or_nothing_behind(text: str, end: int, units: Iterable[str]) -> bool:
    """Return True if the text after the position `end` begins with one of the units, or with no word.

    The word may touch the position or follow blanks in the same line. Punctuation ends the sentence, so that no word
    stands behind it. Case counts (mW, MW); compatible characters are equal (µ, μ; m², m2).
    """
    start = _CLOSING.match(text, end).end()  # type: ignore[union-attr]  # matches the empty text too
    lines = text[start : start + _MAX_UNIT_TEXT].splitlines()
    behind = _normalize_unit(lines[0]) if lines else ""
    if not behind or not (_UNIT_SYMBOL.match(behind) or unicodedata.category(behind[0]) == "Sc"):
        return True
    return any(_begins_with_unit(behind, _normalize_unit(each)) for each in units)


def _begins_with_unit(text: str, unit: str) -> bool:
    return text.startswith(unit) and not _JOINED.match(text, len(unit))


def _normalize_unit(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())
