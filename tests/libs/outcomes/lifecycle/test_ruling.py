from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.canonical import canonical_bytes
from aex_outcomes.confinement import frames
from aex_outcomes.json_values import MAX_DEPTH, MAX_RESULT_DEPTH, find_pointer_beyond_depth
from aex_outcomes.lifecycle.ruling import (
    MAX_CODE,
    MAX_MESSAGE,
    MAX_METADATA_BYTES,
    RULING,
    Accepted,
    FinalResultRefused,
    Rejected,
    Rejection,
    serialize_ruling,
)

TEXTS = st.text(st.characters(codec=None, exclude_categories=())) | st.just("\ud800")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**53)
    | st.floats()
    | TEXTS
    | st.binary()
    | st.decimals()
    | st.datetimes()
    | st.uuids()
    | st.just(object())
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS | st.integers(), inner), max_leaves=8
)


def as_read(feedback: dict[str, Any]) -> Any:
    return frames.decode_untrusted_json(frames.encode_json(feedback))


@given(st.dictionaries(TEXTS, VALUES), TEXTS, TEXTS)
def test_a_rejection_always_leaves_its_worker(metadata: dict[str, Any], message: str, code: str) -> None:
    given_to = Rejected(rejection=Rejection(message=message * 50, code=code, metadata=metadata))
    read = RULING.validate_python(as_read(serialize_ruling(given_to, "mine")))
    assert isinstance(read, Rejected)
    assert len(read.rejection.message) <= MAX_MESSAGE
    assert len(read.rejection.code) <= MAX_CODE
    assert len(canonical_bytes(read.rejection.metadata)) <= MAX_METADATA_BYTES + 2


@given(VALUES)
def test_a_final_result_is_read_as_it_was_reported_or_refused_by_name(value: Any) -> None:
    try:
        feedback = serialize_ruling(Accepted(final_result=value), "mine")
    except FinalResultRefused:
        return
    assert canonical_bytes(as_read(feedback)["final_result"]) == canonical_bytes(feedback["final_result"])


@given(st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))  # fmt: skip
def test_plain_json_is_always_a_final_result_and_stays_what_it_is(value: Any) -> None:
    feedback = serialize_ruling(Accepted(final_result=value), "mine")
    assert canonical_bytes(feedback["final_result"]) == canonical_bytes(value)


def test_what_cannot_be_looked_into_is_reported_by_its_type() -> None:
    circle: list[Any] = []
    circle.append(circle)
    rejected = Rejected(rejection=Rejection(message="no", metadata={"a": circle, "b": 1}))
    assert serialize_ruling(rejected, "mine")["rejection"]["metadata"] == {"a": "<list>", "b": 1}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_metadata_that_nest_too_deep_are_cut() -> None:
    rejected = Rejected(rejection=Rejection(message="no", metadata={"a": nested(200), "b": nested(3)}))
    metadata = serialize_ruling(rejected, "mine")["rejection"]["metadata"]
    assert metadata["b"] == nested(3)
    assert find_pointer_beyond_depth(metadata) is None
    assert str(metadata["a"]).count("[") == MAX_DEPTH - 1


def test_a_final_result_that_nests_too_deep_is_refused() -> None:
    assert serialize_ruling(Accepted(final_result=nested(MAX_RESULT_DEPTH)), "mine")["ruling"] == "accepted"
    with pytest.raises(FinalResultRefused, match="it is nested more than 128 levels deep"):
        serialize_ruling(Accepted(final_result=nested(MAX_RESULT_DEPTH + 1)), "mine")
