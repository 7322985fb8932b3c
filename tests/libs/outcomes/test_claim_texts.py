"""Claims keep the text they were written in, through a store that keeps numbers."""

import json

from hypothesis import given
from hypothesis import strategies as st

from aex_models.canonical import canonical_bytes
from aex_models.numbers import JsonFloat
from aex_outcomes.claim_texts import claim_texts, claims_restored, spelled_otherwise, texts_to_keep


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
    restored = claims_restored(stored, kept)
    assert restored == claims
    assert claim_texts(restored) == claim_texts(claims)
    assert spelled_otherwise(restored) == spelled_otherwise(claims)


def test_a_number_of_python_is_told_as_it_would_be_sent() -> None:
    assert claim_texts({"a": 5.0, "b": 0.25, "c": 3}) == {"a": "5.0", "b": "0.25", "c": "3"}


def test_a_text_of_another_number_is_not_believed() -> None:
    restored = claims_restored({"a": 11.17, "b": 2, "c": 3}, {"a": "-0.390", "b": "two"})
    assert claim_texts(restored) == {"a": "11.17", "b": "2", "c": "3"}


def test_digits_beyond_what_the_number_needs_are_another_spelling_and_exponents_are_not() -> None:
    claims = {"a": JsonFloat("11.170"), "b": JsonFloat("11.17"), "c": JsonFloat("1e-3"), "d": JsonFloat("5.0"), "e": 5}
    assert set(spelled_otherwise(claims)) == {"a", "d"}
    assert spelled_otherwise({"a": JsonFloat("1.170e1")}) == spelled_otherwise({"a": JsonFloat("11.70")})


def test_null_stays_null_through_a_store_and_has_no_other_spelling() -> None:
    claims = {"a": None, "b": JsonFloat("2.0")}
    kept = texts_to_keep(claims)
    assert (kept, set(spelled_otherwise(claims))) == ({"b": "2.0"}, {"b"})
    assert claim_texts({"a": None, "b": 2}, kept) == {"a": "null", "b": "2.0"}
    assert claims_restored({"a": None, "b": 2}, {**kept, "a": "5"}) == {"a": None, "b": 2}
