import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.canonical import canonical_bytes
from aex_models.numbers import JsonFloat
from aex_outcomes.json_values import (
    MISSING,
    find_claim_texts_lost_in_storage,
    find_noncanonical_spellings,
    format_claim_texts,
    join_pointer,
    resolve_pointer,
    restore_claim_texts,
)


def test_a_claim_is_reported_as_it_was_written() -> None:
    claims = {"a": JsonFloat("11.170"), "b": JsonFloat("1.50e2"), "c": 3, "d": 0.25}
    assert format_claim_texts(claims) == {"a": "11.170", "b": "1.50e2", "c": "3", "d": "0.25"}


def test_only_what_a_store_would_write_otherwise_is_kept_beside_it() -> None:
    claims = {"a": JsonFloat("11.170"), "b": JsonFloat("11.17"), "c": 3, "d": JsonFloat("3.0"), "e": JsonFloat("1e-3")}
    assert find_claim_texts_lost_in_storage(claims) == {"a": "11.170", "d": "3.0", "e": "1e-3"}


def test_a_text_that_is_longer_than_any_double_needs_counts_as_its_double() -> None:
    long = JsonFloat(f"0.5{'0' * 100}")
    assert format_claim_texts({"a": long}) == {"a": "0.5"}
    assert find_claim_texts_lost_in_storage({"a": long}) == {}


numbers = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**6), max_value=10**6).map(
        lambda number: JsonFloat(str(number))
    ),
    st.integers(-(2**53) + 1, 2**53 - 1),
)


@given(st.dictionaries(st.text(max_size=5), numbers, max_size=5))
def test_any_written_claim_is_reported_after_a_store(claims: dict[str, float]) -> None:
    kept, stored = find_claim_texts_lost_in_storage(claims), json.loads(canonical_bytes(claims))
    assert format_claim_texts(stored, kept) == format_claim_texts(claims)
    restored = restore_claim_texts(stored, kept)
    assert restored == claims
    assert format_claim_texts(restored) == format_claim_texts(claims)
    assert find_noncanonical_spellings(restored) == find_noncanonical_spellings(claims)


def test_a_number_of_python_is_reported_as_it_would_be_sent() -> None:
    assert format_claim_texts({"a": 5.0, "b": 0.25, "c": 3}) == {"a": "5.0", "b": "0.25", "c": "3"}


def test_a_text_of_another_number_is_not_believed() -> None:
    restored = restore_claim_texts({"a": 11.17, "b": 2, "c": 3}, {"a": "-0.390", "b": "two"})
    assert format_claim_texts(restored) == {"a": "11.17", "b": "2", "c": "3"}


def test_digits_beyond_what_the_number_needs_are_another_spelling_and_exponents_are_not() -> None:
    claims = {"a": JsonFloat("11.170"), "b": JsonFloat("11.17"), "c": JsonFloat("1e-3"), "d": JsonFloat("5.0"), "e": 5}
    assert set(find_noncanonical_spellings(claims)) == {"a", "d"}
    assert find_noncanonical_spellings({"a": JsonFloat("1.170e1")}) == find_noncanonical_spellings(
        {"a": JsonFloat("11.70")}
    )


def test_null_stays_null_through_a_store_and_has_no_other_spelling() -> None:
    claims = {"a": None, "b": JsonFloat("2.0")}
    kept = find_claim_texts_lost_in_storage(claims)
    assert (kept, set(find_noncanonical_spellings(claims))) == ({"b": "2.0"}, {"b"})
    assert format_claim_texts({"a": None, "b": 2}, kept) == {"a": "null", "b": "2.0"}
    assert restore_claim_texts({"a": None, "b": 2}, {**kept, "a": "5"}) == {"a": None, "b": 2}


DOCUMENT = {"a": [1, {"b/c": 2, "~": 3, "": 4}], "n": None, "0": 5}


@pytest.mark.parametrize(
    ("pointer", "found"),
    [("", DOCUMENT), ("/a/0", 1), ("/a/1/b~1c", 2), ("/a/1/~0", 3), ("/a/1/", 4), ("/n", None), ("/0", 5)],
)
def test_a_pointer_leads_through_objects_and_lists(pointer: str, found: Any) -> None:
    assert resolve_pointer(DOCUMENT, pointer) == found


@pytest.mark.parametrize(
    "pointer", ["/x", "/a/2", "/a/-1", "/a/01", "/a/-", "/a/x", "/n/x", "/a/0/0", "/a/٠", "/a/" + "9" * 20]
)
def test_where_nothing_lies_there_is_no_null(pointer: str) -> None:
    assert resolve_pointer(DOCUMENT, pointer) is MISSING


def test_a_text_is_no_list_of_characters() -> None:
    assert resolve_pointer("abc", "/0") is MISSING


def test_keys_are_escaped_when_joined() -> None:
    assert join_pointer("a/b", 0, "~") == "/a~1b/0/~0"
    assert repr(MISSING) == "MISSING"
