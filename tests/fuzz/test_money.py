import json
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.frozen import Frozen
from aex_models.money import MAX_AMOUNT, Money, format_amount, from_micros, parse_amount, to_micros
from aex_models.numbers import JsonFloat
from tests.fuzz.effort import effort, soon
from tests.fuzz.values import INVALID

PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]{1,6})?", re.ASCII)
"""The specification's words: plain digits, no exponents or underscores, at most 6 decimals."""
REFUSED = "Not an amount of money|Amounts are at most"
NEARLY = st.from_regex(re.compile(r"\A[-+ ]?[0-9_٣,]{0,12}(\.[0-9]{0,8})?([eE][-+]?[0-9]{1,3})?[ \n]?\Z"))
TEXTS = st.text(max_size=20) | NEARLY | st.text("0123456789.-+eE_ ٣\n", max_size=20)


class Bill(Frozen):
    lines: list[Money]


def is_plain(text: str) -> bool:
    return PLAIN.fullmatch(text) is not None and abs(Fraction(text)) <= Fraction(MAX_AMOUNT)


@effort()
@given(TEXTS)
def test_text_is_an_exact_amount_or_refused(text: str) -> None:
    if not is_plain(text):
        with pytest.raises(ValueError, match=REFUSED):
            soon(parse_amount, text)
        return
    amount = soon(parse_amount, text)
    assert Fraction(amount) == Fraction(text)
    assert Fraction(to_micros(amount), 10**6) == Fraction(text)
    assert from_micros(to_micros(amount)) == amount
    assert parse_amount(format_amount(amount)) == amount


@effort()
@given(st.from_regex(re.compile(r"\A-?(0|[1-9][0-9]{0,10})(\.[0-9]{1,8})?([eE][-+]?[0-9]{1,3})?\Z", re.ASCII)))
def test_json_number_is_read_from_its_text(text: str) -> None:
    number = json.loads(text, parse_float=JsonFloat)
    if not is_plain(text):
        with pytest.raises(ValueError, match=REFUSED):
            parse_amount(number)
    else:
        assert Fraction(parse_amount(number)) == Fraction(text)


@effort()
@given(INVALID | st.decimals())
def test_any_value_is_an_exact_amount_or_refused(value: Any) -> None:
    try:
        amount = soon(parse_amount, value)
    except ValueError as refused:
        assert re.match(REFUSED, str(refused))  # noqa: PT017 either of the two may happen
        return
    assert isinstance(amount, Decimal)
    assert Fraction(to_micros(amount), 10**6) == Fraction(amount)
    assert abs(amount) <= MAX_AMOUNT


@effort()
@given(st.lists(TEXTS, max_size=6))
def test_bad_amounts_are_refused_with_their_pointer(texts: list[str]) -> None:
    bad = [place for place, text in enumerate(texts) if not is_plain(text) or Fraction(text) < 0]
    try:
        bill = Bill.model_validate({"lines": texts})
    except ValidationError as refused:
        assert [each["loc"] for each in refused.errors()] == [("lines", place) for place in bad]  # noqa: PT017
    else:
        assert not bad
        assert Bill.model_validate_json(bill.model_dump_json()) == bill
