"""Job that verifies a candidate in a confined worker; its payload and result are JSON values."""

import asyncio
import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_models.numbers import convert_large_integers_to_doubles
from aex_models.science import ScienceResult
from aex_outcomes.engine.candidate import Assessment, VerificationInput
from aex_outcomes.engine.verification import VerificationEngine
from aex_outcomes.sandbox.jobs import get_worker_sandbox
from aex_outcomes.testing.jobs import get_worker_test_runner


def verify_candidate(payload: dict[str, Any]) -> dict[str, Any]:
    """Verify one candidate without governance, and collect the facts that governance needs.

    Custom metrics and hidden tests need a worker that may start processes.

    `payload`: `success_criteria` (or null), `work_input`, `evaluation` (or null), `output`, `execution_metadata`,
    `platform_latency_ms` (or null), `contract_id`, `config` (or null: the mapping of an `outcome-verification.yaml`).
    Optional: `candidate_hash`, `reasoning`, `earlier` (forms of earlier outputs by hash, the oldest first), `science`
    (the `ScienceResult` of the gate), `verification_id`, `verified_at` (RFC 3339). An output's form is its
    `structured_form`, or if that is null its `output_text`.

    Returns `{result, extracted_metrics, reference_similarity, keyword_stats, output_text, other_text, structured_form,
    similarities, seconds}`: the `VerificationResult`, the fields of `CandidateFacts` (null where unknown), and the
    seconds of each extractor.

    Raises for an invalid payload: pydantic's `ValidationError`, `InvalidConfig`, `KeyError`. Raises `UnknownMetric`,
    `InvalidMetricType` or `TooManyCriteria` for criteria that this configuration cannot evaluate.
    """
    return _answer(
        asyncio.run(_engine(json.dumps(payload.get("config"))).verify_without_governance(_verification_input(payload)))
    )


def verify_candidates(payload: dict[str, Any]) -> dict[str, Any]:
    """Verify several candidates by the same criteria, without governance and without facts for it.

    `payload`: the keys of `verify_candidate`'s payload that all candidates share, and `candidates`: a list of
    mappings with the keys of each. A candidate's own key has precedence over a shared one. Returns `{results,
    seconds}`: for each candidate the `VerificationResult`, and the seconds of each extractor. Raises as
    `verify_candidate`, for all candidates together.
    """
    return asyncio.run(_verify_candidates(payload))


async def _verify_candidates(payload: Mapping[str, Any]) -> dict[str, Any]:
    engine = _engine(json.dumps(payload.get("config")))
    criteria = payload["success_criteria"]
    parsed = None if criteria is None else SuccessCriteria.model_validate(criteria)
    shared = {name: value for name, value in payload.items() if name != "candidates"} | {"success_criteria": parsed}
    results: list[dict[str, Any]] = []
    seconds: list[dict[str, float]] = []
    for each in payload["candidates"]:
        result, taken = await engine.verify_without_facts(_verification_input(shared | each))
        results.append(result.model_dump(mode="json"))
        seconds.append(dict(taken))
    plain: dict[str, Any] = convert_large_integers_to_doubles({"results": results, "seconds": seconds})
    return plain


@lru_cache(maxsize=4)
def _engine(config: str) -> VerificationEngine:
    """Return the engine for a configuration; it is kept, because it caches prepared references."""
    return VerificationEngine(json.loads(config), sandbox=get_worker_sandbox(), test_runner=get_worker_test_runner())


def _verification_input(payload: Mapping[str, Any]) -> VerificationInput:
    criteria, at, science = payload["success_criteria"], payload.get("verified_at"), payload.get("science")
    return VerificationInput(
        contract_id=payload["contract_id"],
        work_input=payload.get("work_input") or {},
        work_output=payload["output"],
        success_criteria=None if criteria is None else SuccessCriteria.model_validate(criteria),
        execution_metadata=payload.get("execution_metadata") or {},
        evaluation=payload.get("evaluation") or {},
        verification_id=payload.get("verification_id") or f"ver_{uuid.uuid4().hex}",
        verified_at=datetime.fromisoformat(at) if at else datetime.now(UTC),
        platform_latency_ms=payload.get("platform_latency_ms"),
        candidate_hash=payload.get("candidate_hash"),
        reasoning=payload.get("reasoning"),
        earlier=payload.get("earlier") or {},
        science=None if science is None else ScienceResult.model_validate(science),
    )


def _answer(assessment: Assessment) -> dict[str, Any]:
    facts = assessment.facts
    answer = {
        "result": assessment.result.model_dump(mode="json"),
        "extracted_metrics": dict(facts.extracted_metrics),
        "reference_similarity": facts.reference_similarity and facts.reference_similarity.model_dump(mode="json"),
        "keyword_stats": facts.keyword_stats and facts.keyword_stats.model_dump(mode="json"),
        "output_text": facts.output_text,
        "other_text": facts.other_text,
        "structured_form": facts.structured_form,
        "similarities": dict(facts.similarities),
        "seconds": dict(assessment.seconds),
    }
    # A threshold of 1e17 is stored as an integer beyond ±(2^53 − 1), which the pool refuses in an answer.
    plain: dict[str, Any] = convert_large_integers_to_doubles(answer)
    return plain
