"""What makes two candidates the same."""

import pytest

from aex_models.canonical import NotCanonical
from aex_models.contract import Artifact, Candidate
from aex_outcomes.lifecycle.hashing import candidate_hash, output_hash


def test_key_order_and_number_spelling_do_not_matter() -> None:
    one = Candidate(output={"a": 1, "b": 2.0})
    other = Candidate(output={"b": 2, "a": 1.0})
    assert candidate_hash(one) == candidate_hash(other)


def test_a_corrected_claim_makes_a_new_candidate_with_the_same_output() -> None:
    one = Candidate(output={"text": "x"}, claimed_metrics={"rougeL": 0.9})
    other = Candidate(output={"text": "x"}, claimed_metrics={"rougeL": 0.5})
    assert candidate_hash(one) != candidate_hash(other)
    assert output_hash(one.output) == output_hash(other.output)


@pytest.mark.parametrize(
    "change",
    [
        {"execution_metadata": {"duration_ms": 5}},
        {"execution_metadata": {"anything": "else"}},
        {"reasoning": "because"},
        {"claimed_values": {"mean": 1.5}},
        {"artifacts": (Artifact(name="a.csv", media_type="text/csv", content="1"),)},
    ],
)
def test_everything_that_the_verdict_reads_is_hashed(change: dict[str, object]) -> None:
    plain = Candidate(output={"text": "x"})
    changed = Candidate.model_validate({"output": {"text": "x"}, **change})
    assert candidate_hash(plain) != candidate_hash(changed)


def test_the_same_bytes_are_the_same_artifact_however_they_came() -> None:
    sources: list[dict[str, str]] = [
        {"content": "a"},
        {"content_base64": "YQ=="},
        {"sha256": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
    ]
    named = [{"name": "a.csv", "media_type": "text/csv", **source} for source in sources]
    hashes = {candidate_hash(Candidate.model_validate({"output": 1, "artifacts": [each]})) for each in named}
    assert len(hashes) == 1


def test_unsafe_integers_are_refused_with_their_path() -> None:
    with pytest.raises(NotCanonical) as refusal:
        candidate_hash(Candidate(output={"deep": [1, {"n": 2**53 + 1}]}))
    assert refusal.value.path == "/output/deep/1/n"
