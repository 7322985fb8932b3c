import math
from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.canonical import canonical_bytes
from aex_models.contract import Artifact, AwardRequest, Candidate, ExecutionMetadata, Terms
from aex_models.money import ZERO
from aex_models.numbers import JsonFloat, text_of
from aex_models.science import DataFile
from aex_models.work import Budget

DIGEST = "a" * 64
CSV = {"name": "scores.csv", "media_type": "text/csv"}


def codes(error: ValidationError) -> dict[str, str]:
    return {".".join(map(str, each["loc"])): each["type"] for each in error.errors()}


def refusals(**fields: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as refused:
        Candidate.model_validate({"output": None, **fields})
    return codes(refused.value)


def test_terms_take_the_budget_s_caps_and_the_award_s_rate() -> None:
    budget = Budget.model_validate({"max_cpc": "2", "max_penalty_total": "0", "currency": "EUR"})
    terms = Terms.of(budget, AwardRequest.model_validate({"agent_id": "bot", "cpc_rate": "1.50"}).cpc_rate)
    assert terms.model_dump(mode="json") == {
        "cpc_rate": "1.50",
        "max_cpa_total": None,
        "max_penalty_total": "0.00",
        "base_policy": "judged",
        "currency": "EUR",
        "fee_rate": "0.00",
    }
    assert terms.fee_rate == ZERO


@pytest.mark.parametrize("body", [{"agent_id": "a b", "cpc_rate": "1"}, {"agent_id": "a", "cpc_rate": "-1"}, {}])
def test_a_malformed_award_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AwardRequest.model_validate(body)


@pytest.mark.parametrize("output", [None, 0, "text", [1, {"a": None}], {"text": "x"}, False])
def test_an_output_may_be_any_json(output: Any) -> None:
    assert Candidate(output=output).output == output


def test_an_absent_output_is_not_a_null_one() -> None:
    with pytest.raises(ValidationError):
        Candidate.model_validate({})


def test_metadata_keep_what_they_are_told_and_absent_is_not_zero() -> None:
    metadata = ExecutionMetadata.model_validate({"duration_ms": 0, "tool": {"name": "x"}})
    assert metadata.model_dump() == {"duration_ms": 0, "ttfb_ms": None, "processing_ms": None, "tool": {"name": "x"}}


@pytest.mark.parametrize("value", ["5", True, math.nan, math.inf, [1]])
def test_a_duration_is_a_finite_number(value: Any) -> None:
    assert refusals(execution_metadata={"duration_ms": value}) == {"execution_metadata.duration_ms": "not_a_number"}


def test_claims_are_numbers_and_keep_their_text() -> None:
    candidate = Candidate(output=None, claimed_metrics={"a": True, "b": 1}, claimed_values={"c": JsonFloat("11.170")})
    assert text_of(candidate.claimed_values["c"]) == "11.170"
    assert candidate.claimed_metrics == {"a": True, "b": 1}


@pytest.mark.parametrize("value", ["1", None, math.nan, [1]])
def test_a_claimed_metric_that_is_no_number_is_refused_by_name(value: Any) -> None:
    with pytest.raises(ValidationError, match="/a~1b: expected"):
        Candidate(output=None, claimed_metrics={"a/b": value})


@pytest.mark.parametrize("value", ["1", "NaN", [1], {}, 10**400])
def test_a_claimed_value_that_is_no_number_is_refused_by_name(value: Any) -> None:
    with pytest.raises(ValidationError, match="/a~1b: expected a number or null"):
        Candidate(output=None, claimed_values={"a/b": value})


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, JsonFloat("nan")])
def test_a_claim_of_no_number_is_taken_and_stored_as_null(value: Any) -> None:
    candidate = Candidate(output=None, claimed_values={"x": value, "y": 1})
    assert candidate.claimed_values == {"x": None, "y": 1}
    assert canonical_bytes(candidate.model_dump(mode="json")["claimed_values"]) == b'{"x":null,"y":1}'


def test_a_claimed_value_is_never_a_boolean() -> None:
    assert refusals(claimed_values={"x": True}) == {"claimed_values": "invalid_claim"}


@pytest.mark.parametrize(
    "source", [{"content": "a,b"}, {"content": ""}, {"content_base64": "YQ=="}, {"sha256": DIGEST}]
)
def test_an_artifact_has_one_source(source: dict[str, str]) -> None:
    assert Artifact.model_validate({**CSV, **source}).name == "scores.csv"


@pytest.mark.parametrize("source", [{}, {"content": "a", "sha256": DIGEST}, {"content": None}])
def test_an_artifact_with_none_or_two_sources_is_refused(source: dict[str, str]) -> None:
    assert refusals(artifacts=[{**CSV, **source}]) == {"artifacts.0": "artifact_source"}


@pytest.mark.parametrize("content", ["!!", "YQ", "YQ==\n", "é"])
def test_inline_content_that_is_no_base64_is_refused(content: str) -> None:
    assert refusals(artifacts=[{**CSV, "content_base64": content}]) == {"artifacts.0.content_base64": "invalid_base64"}


@pytest.mark.parametrize("name", ["", "a/b", "a\\b", "a\nb", "x" * 201])
def test_an_artifact_s_name_is_no_path(name: str) -> None:
    assert set(refusals(artifacts=[{**CSV, "name": name, "content": "x"}])) == {"artifacts.0.name"}


@pytest.mark.parametrize(
    "media_type",
    ["text/csv", "Text/CSV", "text/csv; charset=utf-8", 'text/csv;charset="utf-8"; header=present', "a/b ;x=y;"],
)
def test_a_media_type_may_have_parameters_and_any_case(media_type: str) -> None:
    told = {"name": "a.csv", "media_type": media_type}
    assert Artifact.model_validate({**told, "content": "x"}).media_type == media_type
    assert DataFile.model_validate({**told, "sha256": DIGEST}).media_type == media_type


@pytest.mark.parametrize(
    "media_type",
    ["csv", "text/", "/csv", "text/csv\n", "text/csv; charset", 'text/csv; a="\n"', "text/csv, text/tsv", "é/x"],
)
def test_what_is_no_media_type_is_refused(media_type: str) -> None:
    assert set(refusals(artifacts=[{**CSV, "media_type": media_type, "content": "x"}])) == {"artifacts.0.media_type"}
