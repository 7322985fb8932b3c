"""Stories about verdicts: criteria and a candidate, and what the engine must make of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_models.results import VerificationResult
from aex_outcomes import VerificationEngine
from tests.libs.outcomes.engine.builders import SAMPLES, Still


def one(metric: str, metric_type: str, comparison: str, threshold: Any, **more: Any) -> dict[str, Any]:
    return {"metric": metric, "metric_type": metric_type, "comparison": comparison, "threshold": threshold, **more}


def sample(value: Any, **settings: Any) -> dict[str, Any]:
    """A configuration with an extractor whose metric `shouting` has this value."""
    return {"extractors": {"mine": {"class": f"{SAMPLES}:Sample", "config": {"value": value, **settings}}}}


@dataclass(frozen=True, slots=True)
class Story:
    says: str
    criteria: list[dict[str, Any]]
    expected: Mapping[str, Any]
    output: Any = field(default_factory=lambda: {"text": "The cat sat on the mat."})
    combined: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    async def verdict(self, **engine: Any) -> VerificationResult:
        judge = VerificationEngine(self.config, clock=Still(), **engine)
        return await judge.verify(
            contract_id="ctr_1",
            work_input={},
            work_output=self.output,
            success_criteria={"criteria": self.criteria, **self.combined},
            **{"execution_metadata": {}, **self.more},
        )


def comparable_fields(found: VerificationResult) -> dict[str, Any]:
    """A result, in the words in which stories expect it."""
    return {
        "verdict": str(found.verdict),
        "success": found.success,
        "met": [each.met for each in found.criterion_results],
        "codes": [each.error.code if each.error else None for each in found.criterion_results],
        "faults": [str(each.error.fault) if each.error else None for each in found.criterion_results],
        "values": [each.value for each in found.criterion_results],
        "score": found.weighted_score,
        "bonus": float(found.bonus),
        "penalty": float(found.penalty),
        "metrics": found.metrics,
    }


def valid(criteria: list[Any], **combined: Any) -> SuccessCriteria:
    """Criteria, parsed."""
    return SuccessCriteria.model_validate({"criteria": criteria, **combined})
