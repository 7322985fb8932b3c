"""Claims keep the text they were written in, through a store that keeps numbers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.canonical import canonical_bytes
from aex_models.numbers import JsonFloat
from aex_runtime.errors import InvalidRequest
from aex_verification.rules.claims import MAX_CLAIMS, claim_texts, refuse_too_many, texts_to_keep


def test_a_claim_is_told_as_it_was_written() -> None:
    claims = {"a": JsonFloat("11.170"), "b": JsonFloat("1.50e2"), "c": 3, "d": 0.25}
    assert claim_texts(claims) == {"a": "11.170", "b": "1.50e2", "c": "3", "d": "0.25"}


def test_only_what_a_store_would_write_otherwise_is_kept_beside_it() -> None:
    claims = {"a": JsonFloat("11.170"), "b": JsonFloat("11.17"), "c": 3, "d": JsonFloat("3.0"), "e": JsonFloat("1e-3")}
    assert texts_to_keep(claims) == {"a": "11.170", "d": "3.0", "e": "1e-3"}


def test_a_text_that_is_longer_than_any_double_needs_counts_as_its_double() -> None:
    long = JsonFloat(f"0.5{'0' * 100}")
    assert claim_texts({"a": long}) == {"a": "0.5"}
    assert texts_to_keep({"a": long}) == {}


numbers = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**6), max_value=10**6).map(
        lambda number: JsonFloat(str(number))
    ),
    st.integers(-(2**53) + 1, 2**53 - 1),
)


@given(st.dictionaries(st.text(max_size=5), numbers, max_size=5))
def test_whatever_was_written_is_told_after_a_store(claims: dict[str, float]) -> None:
    kept, stored = texts_to_keep(claims), json.loads(canonical_bytes(claims))
    assert claim_texts(stored, kept) == claim_texts(claims)


def test_more_claims_than_anybody_reads_are_refused() -> None:
    refuse_too_many(dict.fromkeys(map(str, range(MAX_CLAIMS)), 1))
    with pytest.raises(InvalidRequest) as refused:
        refuse_too_many(dict.fromkeys(map(str, range(MAX_CLAIMS + 1)), 1))
    assert [each.path for each in refused.value.errors] == ["/claimed_values"]
