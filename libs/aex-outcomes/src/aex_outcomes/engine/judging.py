"""From readings to the engine's own verdict; governance has not spoken yet."""

from collections.abc import Sequence

from aex_models.criteria import BonusPolicy, SuccessCriteria, SuccessCriterion
from aex_models.faults import Fault
from aex_models.governance import Action, DecidedBy, GovernanceResult
from aex_models.money import ZERO
from aex_models.numbers import is_number
from aex_models.results import CriterionResult, Provenance, Verdict, VerificationResult
from aex_models.science import ScienceResult
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.aggregating import Scale, effective_required
from aex_outcomes.engine.candidate import Case
from aex_outcomes.engine.evaluating import evaluate_criterion
from aex_outcomes.engine.incentives import verified_bonus, verified_penalty
from aex_outcomes.engine.readings import Reading

SKIPPED = GovernanceResult(action=Action.SKIPPED, decided_by=DecidedBy.NOBODY)


def judge(case: Case, readings: Sequence[Reading], catalog: Catalog) -> VerificationResult:
    """The verdict on a candidate. A work without criteria passes as delivered, unless its science gate does not."""
    criteria = case.success_criteria
    results = _results(criteria, readings, catalog) if criteria else ()
    verdict = verdict_of(criteria, results, case.science)
    success = verdict is Verdict.PASSED
    policy = criteria.bonus_policy if criteria else BonusPolicy.ON_SUCCESS
    costs_nothing = verdict is Verdict.INDETERMINATE
    named = criteria.criteria if criteria else ()
    return VerificationResult(
        verification_id=case.verification_id,
        contract_id=case.contract_id,
        verdict=verdict,
        success=success,
        metrics=_metrics(named, readings, catalog),
        provenance=_provenance(named, readings, catalog),
        criterion_results=results,
        weighted_score=_weighted_score(criteria, results, case.science),
        bonus=ZERO if costs_nothing else verified_bonus(results, policy, success=success),
        penalty=ZERO if costs_nothing else verified_penalty(results),
        science=case.science,
        governance=SKIPPED,
        candidate_hash=case.candidate_hash,
        engine_version=catalog.engine_version,
        verified_at=case.verified_at,
    )


def verdict_of(
    criteria: SuccessCriteria | None, results: Sequence[CriterionResult], science: ScienceResult | None = None
) -> Verdict:
    """Criteria ∧ science gate. Indeterminate as soon as one criterion failed through the platform, or the gate could
    not tell: whatever the others say, since that may change once they all can tell.
    """
    if any(each.error is not None and each.error.fault is Fault.PLATFORM for each in results):
        return Verdict.INDETERMINATE
    if science is not None and science.passed is None:
        return Verdict.INDETERMINATE
    criteria_met = criteria is None or Scale.of(criteria).succeeds([each.met for each in results])
    return Verdict.PASSED if criteria_met and (science is None or science.passed) else Verdict.REJECTED


def _weighted_score(
    criteria: SuccessCriteria | None, results: Sequence[CriterionResult], science: ScienceResult | None
) -> float:
    """The criteria's; without any the gate's own, as a trainer that reads the score learns from it: 1 is a pass."""
    if criteria is not None:
        return float(Scale.of(criteria).share([each.met for each in results]))
    return 1.0 if science is None or science.passed else 0.0


def _results(criteria: SuccessCriteria, readings: Sequence[Reading], catalog: Catalog) -> tuple[CriterionResult, ...]:
    return tuple(
        evaluate_criterion(
            criterion,
            reading,
            catalog.entry(criterion.metric),
            required=effective_required(criteria, criterion),
            secret=catalog.is_secret(criterion),
        )
        for criterion, reading in zip(criteria.criteria, readings, strict=True)
    )


def _metrics(
    criteria: Sequence[SuccessCriterion], readings: Sequence[Reading], catalog: Catalog
) -> dict[str, bool | float | int]:
    """The metrics that criteria name, as extracted, also those out of range.

    Where thresholds bring terms of their own, one metric has several values: the one over evaluation data counts,
    else the first.
    """
    metrics: dict[str, bool | float | int] = {}
    over_evaluation: set[str] = set()
    for criterion, reading in zip(criteria, readings, strict=True):
        if not (isinstance(reading.value, bool) or is_number(reading.value)):
            continue
        secret = catalog.is_secret(criterion) or reading.secret
        if criterion.metric not in metrics or (secret and criterion.metric not in over_evaluation):
            metrics[criterion.metric] = reading.value
        over_evaluation |= {criterion.metric} if secret else set()
    return metrics


def _provenance(
    criteria: Sequence[SuccessCriterion], readings: Sequence[Reading], catalog: Catalog
) -> dict[str, Provenance]:
    """Of those metrics: what the value itself says, else the catalogue."""
    own = {
        criterion.metric: reading.provenance
        for criterion, reading in zip(criteria, readings, strict=True)
        if reading.provenance is not None
    }
    return {
        metric: own.get(metric) or catalog.entry(metric).provenance for metric in _metrics(criteria, readings, catalog)
    }
