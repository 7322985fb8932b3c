import json
from typing import Any

import pytest

from aex_models.canonical import canonical_bytes
from aex_models.criteria import SuccessCriteria
from aex_models.results import Verdict, VerificationResult
from aex_outcomes.confinement import frames
from aex_outcomes.engine.job import verify_candidate

PAYLOAD: dict[str, Any] = {
    "contract_id": "ctr_1",
    "success_criteria": {
        "criteria": [
            {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.5, "bonus": "1.25"},
            {"metric": "platform_latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 9},
        ]
    },
    "work_input": {"question": "?"},
    "evaluation": {"reference": ["the cat sat on the mat", "x"], "required_keywords": ["cat"]},
    "output": {"text": "the cat sat on a mat"},
    "execution_metadata": {"duration_ms": 5},
    "platform_latency_ms": 8,
    "config": None,
}


def run(**changes: Any) -> dict[str, Any]:
    answer = verify_candidate(json.loads(json.dumps(PAYLOAD | changes)))
    decoded = json.loads(json.dumps(answer, allow_nan=False))
    assert isinstance(decoded, dict)
    return decoded


def test_the_answer_is_json_with_the_result_and_the_facts() -> None:
    answer = run(verification_id="ver_9", verified_at="2026-01-02T03:04:05Z", candidate_hash="a" * 64)
    result = VerificationResult.model_validate(answer["result"])
    assert (result.verdict, str(result.bonus), result.verification_id) == (Verdict.PASSED, "1.25", "ver_9")
    assert (result.verified_at.isoformat(), result.candidate_hash) == ("2026-01-02T03:04:05+00:00", "a" * 64)
    assert answer["extracted_metrics"] == {"rougeL": pytest.approx(5 / 6), "platform_latency_ms": 8}
    assert answer["reference_similarity"]["rouge_l"] == pytest.approx(5 / 6)
    assert answer["keyword_stats"]["found"] == 1
    assert answer["output_text"] == "the cat sat on a mat"


def test_answer_with_large_thresholds_is_accepted_by_the_pool() -> None:
    large = {"metric": "platform_latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 1e17}
    form = {
        "metric": "matches_schema",
        "metric_type": "matches_schema",
        "comparison": "eq",
        "threshold": {"properties": {"n": {"maximum": 1e20}}},
    }
    criteria = SuccessCriteria.model_validate({"criteria": [large, form]})
    stored = SuccessCriteria.model_validate_json(canonical_bytes(criteria))
    answer = verify_candidate(PAYLOAD | {"success_criteria": stored.model_dump(mode="json")})
    result = VerificationResult.model_validate(frames.decode_untrusted_json(frames.encode_json(answer))["result"])
    assert result.verdict is Verdict.PASSED
    assert [each.threshold for each in result.criterion_results] == [1e17, form["threshold"]]


def test_without_text_and_evaluation_data_all_facts_are_null() -> None:
    answer = run(success_criteria=None, evaluation=None, output=[1, 2], platform_latency_ms=None)
    assert answer["result"]["verdict"] == "passed"
    assert [answer[name] for name in ("reference_similarity", "keyword_stats", "output_text")] == [None] * 3
    assert answer["extracted_metrics"] == {}


def test_terms_of_thresholds_count_as_keywords_for_governance() -> None:
    expected = {
        "metric": "contains_keywords",
        "metric_type": "contains",
        "comparison": "contains_any",
        "threshold": ["mat"],
    }
    answer = run(success_criteria={"criteria": [expected]}, evaluation=None)
    assert answer["keyword_stats"] == {"found": 1, "density": pytest.approx(1 / 6), "list_share": 0}


def test_a_bare_text_reaches_governance_though_no_metric_measures_it() -> None:
    answer = run(output="the cat sat on a mat")
    assert answer["output_text"] == "the cat sat on a mat"
    assert answer["result"]["criterion_results"][0]["error"]["code"] == "metric_missing"


def test_the_configuration_of_the_payload_holds() -> None:
    answer = run(config={"extractors": {"text_quality": {"config": {"text_pointer": "/body"}}}}, output={"body": "cat"})
    assert answer["output_text"] == "cat"
    assert answer["result"]["engine_version"] != run()["result"]["engine_version"]
