from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr, field_serializer

from aex_models.canonical import NotCanonical, canonical_bytes
from aex_models.contract import Artifact, Candidate
from aex_models.numbers import JsonFloat
from aex_outcomes import Passed, RevisionLoop
from aex_outcomes.json_values import find_claim_texts_lost_in_storage, restore_claim_texts
from aex_outcomes.lifecycle.outputs import candidate_hash, output_hash, to_output_json


class WrittenUnderAnotherName(BaseModel):
    title: str = Field(serialization_alias="Title")


class ReadUnderAnotherName(BaseModel):
    title: str = Field(validation_alias="Title")


class BothNames(BaseModel):
    title: str = Field(alias="Title")


class Secretive(BaseModel):
    key: SecretStr


class OneWay(BaseModel):
    words: int

    @field_serializer("words")
    def in_letters(self, words: int) -> str:
        return "many" if words else "none"


@pytest.mark.parametrize(
    ("output", "written"),
    [
        (WrittenUnderAnotherName(title="t"), {"title": "t"}),
        (BothNames(Title="t"), {"Title": "t"}),
        ([WrittenUnderAnotherName(title="t")], [{"Title": "t"}]),
        ({"at": 1.5}, {"at": 1.5}),
    ],
)
def test_a_model_is_written_under_the_names_that_its_class_reads(output: Any, written: Any) -> None:
    assert to_output_json(output) == written


async def test_a_verifier_is_given_what_the_producer_gave() -> None:
    loop = RevisionLoop(
        lambda _: WrittenUnderAnotherName(title="t"),
        output_type=WrittenUnderAnotherName,
        verifier=lambda out: out.title,
    )
    assert await loop.run("q") == Passed("t")


@pytest.mark.parametrize(
    "output",
    [ReadUnderAnotherName.model_validate({"Title": "t"}), OneWay(words=3)],
    ids=lambda each: type(each).__name__,
)
def test_a_model_that_cannot_be_read_back_is_a_mistake_that_is_named(output: BaseModel) -> None:
    with pytest.raises(TypeError, match=rf"A {type(output).__name__} .*give its serialiser and its validator the same"):
        to_output_json(output)


def test_a_model_that_changes_on_the_way_gets(capsys: pytest.CaptureFixture[str]) -> None:
    assert to_output_json(Secretive(key=SecretStr("hush"))) == {"key": "**********"}
    feedback = capsys.readouterr().out
    assert "output_coerced_to_json" in feedback
    assert "hush" not in feedback


def test_what_json_cannot_hold_is_left_for_the_candidate_check() -> None:
    class Number(BaseModel):
        value: float

    assert to_output_json(Number(value=float("inf"))) == {"value": float("inf")}


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
        {"claimed_values": {"mean": JsonFloat("1.50")}},
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


def with_artifacts(*artifacts: tuple[str, str, str]) -> str:
    files = tuple(Artifact(name=name, media_type=kind, content=content) for name, kind, content in artifacts)
    return candidate_hash(Candidate(output=1, artifacts=files))


def test_how_a_file_is_read_and_which_comes_first_is_part_of_the_candidate() -> None:
    one, other = ("a.csv", "text/csv", "1"), ("b.csv", "text/csv", "2")
    assert with_artifacts(one) != with_artifacts(("a.csv", "text/tab-separated-values", "1"))
    assert with_artifacts(one, other) != with_artifacts(other, one)
    assert with_artifacts(one, other) == with_artifacts(one, other)


def test_a_claim_with_another_number_of_decimals_is_another_claim_and_another_spelling_is_not() -> None:
    hashes = {
        text: candidate_hash(Candidate(output=1, claimed_values={"mean": JsonFloat(text)}))
        for text in ("11.17", "11.170", "1.117e1", "1.1170e1")
    }
    assert hashes["11.17"] == hashes["1.117e1"] != hashes["11.170"] == hashes["1.1170e1"]
    assert hashes["11.17"] == candidate_hash(Candidate(output=1, claimed_values={"mean": 11.17}))


def test_a_candidate_that_was_stored_keeps_its_hash_once_its_claims_have_their_texts() -> None:
    claims = {"mean": JsonFloat("11.170"), "std": 2.0, "n": 5}
    candidate, kept = Candidate(output=1, claimed_values=claims), find_claim_texts_lost_in_storage(claims)
    stored = Candidate.model_validate_json(canonical_bytes(candidate))
    read = stored.model_copy(update={"claimed_values": restore_claim_texts(stored.claimed_values, kept)})
    assert candidate_hash(read) == candidate_hash(candidate)


def test_unsafe_integers_are_refused_with_their_path() -> None:
    with pytest.raises(NotCanonical) as refusal:
        candidate_hash(Candidate(output={"deep": [1, {"n": 2**53 + 1}]}))
    assert refusal.value.path == "/output/deep/1/n"


def test_a_claim_of_null_is_none_of_0_and_not_absent() -> None:
    claims: list[dict[str, int | None]] = [{}, {"mean": None}, {"mean": 0}]
    hashes = [candidate_hash(Candidate(output=1, claimed_values=each)) for each in claims]
    assert len(set(hashes)) == 3
    assert candidate_hash(Candidate(output=1, claimed_values={"mean": float("nan")})) == hashes[1]
