import base64
import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.canonical import NotCanonical, canonical_bytes
from aex_models.contract import Candidate
from aex_outcomes.json_values import lossy_claim_texts, restore_claims
from aex_outcomes.lifecycle.outputs import candidate_hash
from aex_outcomes.submission.findings import problems_of
from tests.fuzz.effort import effort, soon
from tests.fuzz.problems import assert_reported
from tests.fuzz.test_canonical import reordered
from tests.fuzz.values import INVALID, JSON, TEXT, mutated, positions

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
        assert_reported(problems_of(refused, body), body)
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
    kept = lossy_claim_texts(candidate.claimed_values)
    stored = Candidate.model_validate_json(canonical_bytes(candidate))
    restored = stored.model_copy(update={"claimed_values": restore_claims(stored.claimed_values, kept)})
    assert candidate_hash(restored) == before
