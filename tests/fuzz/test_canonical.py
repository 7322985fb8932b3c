import base64
import copy
import json
import struct
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.canonical import NotCanonical, canonical_bytes, find_json_problem
from aex_models.contract import Candidate
from aex_outcomes.json_values import find_claim_texts_lost_in_storage, restore_claim_texts
from aex_outcomes.lifecycle.outputs import candidate_hash
from aex_outcomes.submission.findings import convert_validation_error
from tests.fuzz.effort import effort, soon
from tests.fuzz.values import INVALID, JSON, TEXT, assert_reported, is_there, mutated, positions

_EDGES = [
    *(0, 1 << 63, 1, 0x7FEFFFFFFFFFFFFF, 0x4340000000000000, 0x7FF0000000000000, 0x7FFFFFFFFFFFFFFF),
    *(0x444B1AE4D6E2EF4F, 0x444B1AE4D6E2EF50, 0x3EB0C6F7A0B5ED8C, 0x3EB0C6F7A0B5ED8D, 0x44B52D02C7E14AF6),
]
"""Bits of zeros, the least and the largest doubles, no numbers, and both sides of each change of notation."""


def assert_as_reference(bits: int) -> None:
    (number,) = struct.unpack(">d", struct.pack(">Q", bits))
    if number - number != 0:
        with pytest.raises(NotCanonical):
            canonical_bytes(number)
    else:
        assert canonical_bytes(number) == rfc8785.dumps(number)
        assert float(canonical_bytes(number)) == number


@pytest.mark.parametrize("bits", _EDGES)
def test_double_at_an_edge_is_written_or_refused_as_by_the_reference(bits: int) -> None:
    assert_as_reference(bits)


@effort()
@given(st.integers(0, 2**64 - 1))
def test_any_double_is_written_or_refused_as_by_the_reference(bits: int) -> None:
    assert_as_reference(bits)


@effort()
@given(INVALID)
def test_canonical_text_equals_reference_or_is_refused_with_pointer(value: Any) -> None:
    try:
        written = soon(canonical_bytes, value)
    except NotCanonical as refused:
        assert find_json_problem(value) == (refused.path, refused.problem)  # noqa: PT017 either of the two may happen
        assert is_there(value, refused.path)  # noqa: PT017
        with pytest.raises(ValueError):  # noqa: PT011 of any wording: it is the reference's own
            rfc8785.dumps(value)
        return
    assert find_json_problem(value) is None
    assert canonical_bytes(json.loads(written)) == written


CLAIMS = st.dictionaries(TEXT, st.sampled_from([11.17, 5, 0.1, None]), max_size=3)
ARTIFACT = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["a.csv", "b.csv"]),
        "media_type": st.sampled_from(["text/csv", "text/csv; charset=utf-8"]),
    }
)
CONTENT = st.sampled_from(["a,b\n1,2\n", "", "é"])
ARTIFACTS = st.builds(lambda head, text: {**head, "content": text}, ARTIFACT, CONTENT) | st.builds(
    lambda head, text: {**head, "content_base64": base64.b64encode(text.encode()).decode()}, ARTIFACT, CONTENT
)
CANDIDATES = st.fixed_dictionaries(
    {"output": JSON},
    optional={
        "execution_metadata": st.fixed_dictionaries({}, optional={"duration_ms": st.integers(0, 9), "model": TEXT}),
        "claimed_metrics": st.dictionaries(TEXT, st.booleans() | st.integers(0, 9), max_size=2),
        "claimed_values": CLAIMS,
        "reasoning": st.none() | TEXT,
        "artifacts": st.lists(ARTIFACTS, max_size=2),
    },
)


def hashed(body: Any) -> str | None:
    try:
        return soon(candidate_hash, Candidate.model_validate(body))
    except ValidationError as refused:
        assert_reported(convert_validation_error(refused, body), body)
    except NotCanonical as refused:
        assert refused.problem  # noqa: PT017
    return None


@effort()
@given(mutated(CANDIDATES))
def test_altered_candidate_is_hashed_or_refused_with_pointer(body: Any) -> None:
    hashed(body)


@effort()
@given(mutated(CANDIDATES, INVALID))
def test_candidate_outside_json_is_hashed_or_refused(body: Any) -> None:
    try:
        soon(candidate_hash, Candidate.model_validate(body))
    except (ValidationError, NotCanonical) as refused:
        assert str(refused)  # noqa: PT017 either of the two may happen


@st.composite
def reordered(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: draw(reordered(value[key])) for key in draw(st.permutations(sorted(value)))}
    return [draw(reordered(item)) for item in value] if isinstance(value, list) else value


@effort()
@given(st.data(), CANDIDATES)
def test_order_of_keys_keeps_the_hash(data: st.DataObject, body: Any) -> None:
    assert hashed(data.draw(reordered(body))) == hashed(body)


@effort()
@given(CANDIDATES, st.data())
def test_another_value_in_the_output_changes_the_hash(body: Any, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(list(positions(body["output"]))))
    other = copy.deepcopy(body)
    container, steps = other, ("output", *path)
    for step in steps[:-1]:
        container = container[step]
    container[steps[-1]] = ["another value", container[steps[-1]]]
    before = hashed(body)
    assert before is None or hashed(other) != before


@effort()
@given(CANDIDATES)
def test_stored_candidate_keeps_its_hash(body: Any) -> None:
    before = hashed(body)
    if before is None:
        return
    candidate = Candidate.model_validate(body)
    kept = find_claim_texts_lost_in_storage(candidate.claimed_values)
    stored = Candidate.model_validate_json(canonical_bytes(candidate))
    restored = stored.model_copy(update={"claimed_values": restore_claim_texts(stored.claimed_values, kept)})
    assert candidate_hash(restored) == before
