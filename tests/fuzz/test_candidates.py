"""What an agent posts: one hash for one meaning, whatever the order of keys; another for any other; or a refusal."""

import base64
import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.canonical import NotCanonical, canonical_bytes
from aex_models.contract import Candidate
from aex_outcomes.claim_texts import claims_restored, texts_to_keep
from aex_outcomes.lifecycle.hashing import candidate_hash
from aex_outcomes.submission.findings import problems_of
from tests.fuzz.effort import effort, soon
from tests.fuzz.problems import assert_told
from tests.fuzz.test_canonical import reordered
from tests.fuzz.values import JSON, ODD, TEXT, mutated, places

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
        assert_told(problems_of(refused, body), body)
    except NotCanonical as refused:
        assert refused.problem  # noqa: PT017
    return None


@effort()
@given(mutated(CANDIDATES))
def test_a_candidate_with_one_thing_wrong_has_a_hash_or_is_refused_with_its_place(body: Any) -> None:
    hashed(body)


@effort()
@given(mutated(CANDIDATES, ODD))
def test_what_no_json_reader_would_pass_on_has_a_hash_or_is_refused_too(body: Any) -> None:
    try:
        soon(candidate_hash, Candidate.model_validate(body))
    except (ValidationError, NotCanonical) as refused:
        assert str(refused)  # noqa: PT017 either of the two may happen


@effort()
@given(st.data(), CANDIDATES)
def test_the_order_of_keys_makes_no_new_candidate(data: st.DataObject, body: Any) -> None:
    assert hashed(data.draw(reordered(body))) == hashed(body)


@effort()
@given(CANDIDATES, st.data())
def test_another_value_anywhere_in_the_output_makes_a_new_candidate(body: Any, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(list(places(body["output"]))))
    other = copy.deepcopy(body)
    holder, steps = other, ("output", *path)
    for step in steps[:-1]:
        holder = holder[step]
    holder[steps[-1]] = ["another value", holder[steps[-1]]]
    before = hashed(body)
    assert before is None or hashed(other) != before


@effort()
@given(CANDIDATES)
def test_a_candidate_that_was_stored_has_the_same_hash_once_its_claims_have_their_texts(body: Any) -> None:
    before = hashed(body)
    if before is None:
        return
    candidate = Candidate.model_validate(body)
    kept = texts_to_keep(candidate.claimed_values)
    stored = Candidate.model_validate_json(canonical_bytes(candidate))
    restored = stored.model_copy(update={"claimed_values": claims_restored(stored.claimed_values, kept)})
    assert candidate_hash(restored) == before
