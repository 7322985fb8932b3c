import math
from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.canonical import canonical_bytes
from aex_models.contract import Artifact, AwardRequest, Candidate, ExecutionMetadata, Terms
from aex_models.money import ZERO
from aex_models.numbers import JsonFloat, format_as_written
from aex_models.science import DataFile
from aex_models.work import Budget
from tests.libs.models.refusing import refusals

DIGEST = "a" * 64
CSV = {"name": "scores.csv", "media_type": "text/csv"}


def test_terms_have_the_caps_of_the_budget_and_the_rate_of_the_award() -> None:
    budget = Budget.model_validate({"max_cpc": "2", "max_penalty_total": "0", "currency": "EUR"})
    terms = Terms.from_budget(budget, AwardRequest.model_validate({"agent_id": "bot", "cpc_rate": "1.50"}).cpc_rate)
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
def test_malformed_award_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AwardRequest.model_validate(body)


def test_output_may_be_any_json_but_not_absent() -> None:
    for output in (None, 0, "text", [1, {"a": None}], {"text": "x"}, False):
        assert Candidate(output=output).output == output
    with pytest.raises(ValidationError):
        Candidate.model_validate({})


def test_metadata_keep_unknown_fields_and_absent_values() -> None:
    metadata = ExecutionMetadata.model_validate({"duration_ms": 0, "tool": {"name": "x"}})
    assert metadata.model_dump() == {"duration_ms": 0, "ttfb_ms": None, "processing_ms": None, "tool": {"name": "x"}}


@pytest.mark.parametrize("value", ["5", True, math.nan, math.inf, [1]])
def test_duration_is_a_finite_number(value: Any) -> None:
    assert refusals(Candidate, {"output": None, "execution_metadata": {"duration_ms": value}}) == {
        "execution_metadata.duration_ms": "not_a_number"
    }


def test_claims_are_numbers_and_keep_their_text() -> None:
    candidate = Candidate(output=None, claimed_metrics={"a": True, "b": 1}, claimed_values={"c": JsonFloat("11.170")})
    assert format_as_written(candidate.claimed_values["c"]) == "11.170"
    assert candidate.claimed_metrics == {"a": True, "b": 1}


def test_claim_without_a_number_is_refused_by_name() -> None:
    metrics: tuple[Any, ...] = ("1", None, math.nan, [1])
    values: tuple[Any, ...] = ("1", "NaN", [1], {}, 10**400, True)
    for value in metrics:
        with pytest.raises(ValidationError, match="/a~1b: expected"):
            Candidate(output=None, claimed_metrics={"a/b": value})
    for value in values:
        with pytest.raises(ValidationError, match="/a~1b: expected a number or null"):
            Candidate(output=None, claimed_values={"a/b": value})


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, JsonFloat("nan")])
def test_claim_of_an_infinite_number_is_stored_as_null(value: Any) -> None:
    candidate = Candidate(output=None, claimed_values={"x": value, "y": 1})
    assert candidate.claimed_values == {"x": None, "y": 1}
    assert canonical_bytes(candidate.model_dump(mode="json")["claimed_values"]) == b'{"x":null,"y":1}'


@pytest.mark.parametrize(
    "source", [{"content": "a,b"}, {"content": ""}, {"content_base64": "YQ=="}, {"sha256": DIGEST}]
)
def test_artifact_has_one_source(source: dict[str, str]) -> None:
    assert Artifact.model_validate({**CSV, **source}).name == "scores.csv"


def test_malformed_artifact_is_refused_with_its_pointer() -> None:
    for source in ({}, {"content": "a", "sha256": DIGEST}, {"content": None}):
        assert refusals(Candidate, {"output": None, "artifacts": [{**CSV, **source}]}) == {
            "artifacts.0": "artifact_source"
        }
    for content in ("!!", "YQ", "YQ==\n", "é"):
        refused = refusals(Candidate, {"output": None, "artifacts": [{**CSV, "content_base64": content}]})
        assert refused == {"artifacts.0.content_base64": "invalid_base64"}
    for name in ("", "a/b", "a\\b", "a\nb", "x" * 201):
        assert set(refusals(Candidate, {"output": None, "artifacts": [{**CSV, "name": name, "content": "x"}]})) == {
            "artifacts.0.name"
        }
    for kind in ("csv", "text/", "/csv", "text/csv\n", "text/csv; charset", 'text/csv; a="\n"', "text/csv, a/b", "é/x"):
        refused = refusals(Candidate, {"output": None, "artifacts": [{**CSV, "media_type": kind, "content": "x"}]})
        assert set(refused) == {"artifacts.0.media_type"}


def test_media_type_may_have_parameters_and_any_case() -> None:
    for kind in ("Text/CSV", "text/csv; charset=utf-8", 'text/csv;charset="utf-8"; header=present', "a/b ;x=y;"):
        file = {"name": "a.csv", "media_type": kind}
        assert Artifact.model_validate({**file, "content": "x"}).media_type == kind
        assert DataFile.model_validate({**file, "sha256": DIGEST}).media_type == kind
