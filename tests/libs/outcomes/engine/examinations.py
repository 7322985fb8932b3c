from typing import Any

from aex_models.examination import (
    DataOwner,
    DataProblem,
    DomainViolation,
    Examination,
    Fault,
    Recomputed,
    Reconciliation,
    ReconciliationStatus,
    ValueMismatch,
)
from aex_models.science import GateReason, ScienceResult, ScientificReview
from tests.parts.openai_stub import ACCEPTING

CONSUMER, AGENT = DataOwner.CONSUMER, DataOwner.AGENT
MISMATCHED = GateReason(code="value_mismatch", names=("mean_fitness",))
VIOLATED = GateReason(code="domain_violation", names=("mean_fitness",))
LOST = DataProblem(code="artifact_missing", message="raw.csv is lost", artifact="raw.csv", fault=Fault.PLATFORM)


def recomputed(name: str = "mean_fitness", value: float = -0.39, owner: DataOwner = CONSUMER) -> Recomputed:
    return Recomputed(name=name, value=value, owner=owner, artifact="raw.csv")


def held(
    name: str, status: str = "match", *, claimed: float | None = -0.4, found: float | None = -0.39, secret: bool = False
) -> Reconciliation:
    """A claim, and what came of it."""
    return Reconciliation(
        name=name, status=ReconciliationStatus(status), claimed=claimed, recomputed=found, secret=secret
    )


def mismatch(name: str = "mean_fitness", claimed: float = 11.17, actual: float = -0.39, **more: Any) -> ValueMismatch:
    return ValueMismatch.model_validate(
        {"name": name, "claimed": claimed, "actual": actual, "severity": "critical", **more}
    )


def violation(name: str = "mean_fitness", value: float | None = 11.17, **more: Any) -> DomainViolation:
    fields = {"message": "hush", "min": -5.0, "max": 2.0, "source": "domain", **more}
    return DomainViolation.model_validate({"name": name, "value": value, **fields})


def review(**more: Any) -> ScientificReview:
    return ScientificReview.model_validate(ACCEPTING | more)


def concluded(passed: bool | None = True, **more: Any) -> ScienceResult:
    """The gate's word; what concerns the examination may be given beside what concerns the result."""
    of_both = {"domain_violations", "mixed_groups"}
    own = {name: more.pop(name) for name in [*more] if name in Examination.model_fields and name not in of_both}
    return ScienceResult(passed=passed, examination=Examination(**own), **more)


def refuted(*, secret: bool = False, **more: Any) -> ScienceResult:
    """A mean of 11.17 was claimed, and -0.39 recomputed."""
    return concluded(
        passed=False,
        **{
            "reasons": (MISMATCHED, VIOLATED),
            "value_mismatches": (mismatch(secret=secret),),
            "domain_violations": (violation(),),
            "values_plausible": False,
            "values_consistent": False,
            "claims": 1,
            "recomputed": (recomputed(owner=CONSUMER if secret else AGENT),),
            "reconciliation": (held("mean_fitness", "mismatch", claimed=11.17, secret=secret),),
        }
        | more,
    )
