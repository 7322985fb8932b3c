"""Criteria, readings and results for tests."""

from datetime import UTC, datetime
from typing import Any

from aex_models.catalog import MetricEntry
from aex_models.criteria import SuccessCriteria, SuccessCriterion
from aex_models.governance import Action, Flag, GovernanceResult, Severity, ValidationDecision
from aex_models.results import CriterionError, CriterionResult, Verdict, VerificationResult
from aex_models.thresholds import MetricType
from aex_outcomes import VerificationEngine
from aex_outcomes.engine.candidate import CandidateFacts

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SAMPLES = "tests.libs.outcomes.extractors.samples"


class Still:
    """A clock that stands still."""

    def now(self) -> datetime:
        return NOW


class Deciding:
    """Governance that always says the same, and keeps what it was given."""

    def __init__(self, action: str) -> None:
        flags = () if action == "allow" else (Flag(rule="velocity", severity=Severity.MAJOR, message="…"),)
        self.decision = ValidationDecision(valid=action == "allow", action=Action(action), flags=flags)
        self.feedback: list[CandidateFacts] = []

    async def validate(self, facts: CandidateFacts) -> ValidationDecision:
        self.feedback.append(facts)
        return self.decision


def criterion(
    metric: str = "output_length", comparison: str = "gte", threshold: Any = 1, **more: Any
) -> SuccessCriterion:
    return SuccessCriterion.model_validate(
        {"metric": metric, "metric_type": "numeric", "comparison": comparison, "threshold": threshold, **more}
    )


def criteria(*listed: SuccessCriterion, **more: Any) -> SuccessCriteria:
    return SuccessCriteria.model_validate({"criteria": [each.model_dump() for each in listed], **more})


def lengths(*bounds: int, **more: Any) -> SuccessCriteria:
    return criteria(*(criterion("output_length", "gte", bound) for bound in bounds), **more)


def money(found: VerificationResult) -> tuple[float, float]:
    """Bonus and penalty."""
    return float(found.bonus), float(found.penalty)


def entry(name: str = "m", **more: Any) -> MetricEntry:
    return MetricEntry(**{"name": name, "unit": "", "metric_types": tuple(MetricType), **more})


def result(*met: bool | CriterionError, bonus: str = "1", penalty: str = "0.5", **more: Any) -> VerificationResult:
    """A result with a criterion for each verdict, or error."""
    listed = tuple(
        CriterionResult.model_validate(
            {
                "metric": f"m{position}",
                "metric_type": "numeric",
                "value": None if isinstance(each, CriterionError) else 1.0,
                "threshold": 1,
                "comparison": "gte",
                "met": each is True,
                "required": True,
                "weight": 1.0,
                "bonus": bonus,
                "penalty": penalty,
                "error": each if isinstance(each, CriterionError) else None,
            }
        )
        for position, each in enumerate(met)
    )
    fields: dict[str, Any] = {
        "verification_id": "ver_1",
        "contract_id": "ctr_1",
        "verdict": Verdict.PASSED,
        "success": True,
        "criterion_results": listed,
        "weighted_score": 1.0,
        "governance": GovernanceResult(action=Action.SKIPPED),
        "engine_version": "e",
        "verified_at": NOW,
    }
    return VerificationResult(**(fields | more))


async def verify(
    expected: SuccessCriteria | None, output: Any, *, engine: VerificationEngine | None = None, **more: Any
) -> VerificationResult:
    given = {"contract_id": "ctr_1", "work_input": {}, "execution_metadata": {}} | more
    return await (engine or VerificationEngine(clock=Still())).verify(
        work_output=output, success_criteria=expected, **given
    )
