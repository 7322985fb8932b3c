"""Verdict of the engine from the criteria and their metrics' readings, before governance."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import compress
from typing import Any

from aex_models.criteria import Aggregation, BonusPolicy, SuccessCriteria, SuccessCriterion
from aex_models.examination import Fault
from aex_models.governance import Action, DecidedBy, GovernanceResult
from aex_models.money import ZERO
from aex_models.numbers import format_as_written, is_finite_number
from aex_models.results import CriterionResult, Provenance, Verdict, VerificationResult
from aex_models.science import ScienceResult
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.candidate import VerificationInput
from aex_outcomes.engine.criteria import evaluate_criterion
from aex_outcomes.engine.extraction_plan import Reading
from aex_outcomes.engine.final_result import sum_earned_bonuses, sum_incurred_penalties


def is_required(criteria: SuccessCriteria, criterion: SuccessCriterion) -> bool:
    """Return True if the criterion is necessary: by its `required`, or if unset by the aggregation `all`."""
    return criteria.aggregation is Aggregation.ALL if criterion.required is None else criterion.required


@dataclass(frozen=True, slots=True)
class CriteriaWeights:
    """Weights and aggregation of criteria, which decide whether a combination of met criteria succeeds.

    Weights are exact decimals, stored as proportional integers: 0.7 and 0.1 make 0.8, and reach a minimum of 0.8.
    """

    aggregation: Aggregation
    required: tuple[bool, ...]
    weights: tuple[int, ...]
    minimum: Fraction

    @classmethod
    def from_criteria(cls, criteria: SuccessCriteria) -> "CriteriaWeights":
        """Prepare the weights of these criteria."""
        return cls(
            aggregation=criteria.aggregation,
            required=tuple(is_required(criteria, each) for each in criteria.criteria),
            weights=_proportional_weights(tuple(format_as_written(each.weight) for each in criteria.criteria)),
            minimum=_exact_fraction(format_as_written(criteria.minimum_weighted_score)),
        )

    def met_weight_share(self, met: Sequence[bool]) -> Fraction:
        """Return the weight of the met criteria divided by the weight of all, exactly.

        `met`: for each criterion, true if it is met; a criterion with an error is not.
        """
        return Fraction(sum(compress(self.weights, met)), sum(self.weights))

    def succeeds(self, met: Sequence[bool]) -> bool:
        """Return True if this combination of met criteria is a success.

        All required criteria must be met under every aggregation. `any` needs one met criterion in addition, `weighted`
        the minimum weighted share.
        """
        if any(required and not is_met for required, is_met in zip(self.required, met, strict=True)):
            return False
        if self.aggregation is Aggregation.ANY:
            return any(met)
        return self.aggregation is Aggregation.ALL or self.met_weight_share(met) >= self.minimum


@lru_cache(maxsize=1_024)  # each verdict on a work has the same weights
def _proportional_weights(weights: tuple[str, ...]) -> tuple[int, ...]:
    exact = [Fraction(each) for each in weights]
    unit = math.lcm(*(weight.denominator for weight in exact))
    return tuple(int(weight * unit) for weight in exact)


@lru_cache(maxsize=1_024)
def _exact_fraction(number: str) -> Fraction:
    return Fraction(number)


MAX_DETAIL_BYTES = 64_000
"""Maximum bytes of the details of all metrics of a result, as JSON."""
SKIPPED = GovernanceResult(action=Action.SKIPPED, decided_by=DecidedBy.NOBODY)


def decide_verdict(case: VerificationInput, readings: Sequence[Reading], catalog: Catalog) -> VerificationResult:
    """Return the complete result for the readings of all criteria; if none, the science gate decides."""
    criteria = case.success_criteria
    metrics = _metrics(case.criteria, readings, catalog)
    results = tuple(
        evaluate_criterion(
            criterion,
            reading,
            catalog.entry(criterion.metric),
            position=position,
            required=criteria is not None and is_required(criteria, criterion),
            secret=catalog.has_secret_value(criterion),
        )
        for position, (criterion, reading) in enumerate(zip(case.criteria, readings, strict=True))
    )
    verdict = decide_overall_verdict(criteria, results, case.science)
    success, policy = verdict is Verdict.PASSED, criteria.bonus_policy if criteria else BonusPolicy.ON_SUCCESS
    is_indeterminate = verdict is Verdict.INDETERMINATE
    if criteria is not None:
        score = float(CriteriaWeights.from_criteria(criteria).met_weight_share([each.met for each in results]))
    else:  # for trainers that read scores
        score = 1.0 if case.science is None or case.science.passed else 0.0
    return VerificationResult(
        verification_id=case.verification_id,
        contract_id=case.contract_id,
        verdict=verdict,
        success=success,
        metrics=metrics,
        provenance=_provenance(metrics, case.criteria, readings, catalog),
        criterion_results=results,
        details=_details(case.criteria, readings),
        weighted_score=score,
        bonus=ZERO if is_indeterminate else sum_earned_bonuses(results, policy, success=success),
        penalty=ZERO if is_indeterminate else sum_incurred_penalties(results),
        science=case.science,
        governance=SKIPPED,
        candidate_hash=case.candidate_hash,
        engine_version=catalog.engine_version,
        verified_at=case.verified_at,
    )


def decide_overall_verdict(
    criteria: SuccessCriteria | None, results: Sequence[CriterionResult], science: ScienceResult | None = None
) -> Verdict:
    """Return the verdict by the criteria's results and the science gate.

    It is indeterminate if a criterion has an error by the platform's fault, or the gate could not decide.
    """
    is_undecided = science is not None and science.passed is None
    if is_undecided or any(each.error and each.error.fault is Fault.PLATFORM for each in results):
        return Verdict.INDETERMINATE
    criteria_met = criteria is None or CriteriaWeights.from_criteria(criteria).succeeds([each.met for each in results])
    return Verdict.PASSED if criteria_met and (science is None or science.passed) else Verdict.REJECTED


def _metrics(
    criteria: Sequence[SuccessCriterion], readings: Sequence[Reading], catalog: Catalog
) -> dict[str, bool | float | int]:
    """Return the extracted value of each metric that criteria name, also a value out of range.

    A metric may have several values if thresholds contain terms of their own. Then the value that depends on evaluation
    data is returned, else the first one.
    """
    metrics: dict[str, bool | float | int] = {}
    over_evaluation: set[str] = set()
    for criterion, reading in zip(criteria, readings, strict=True):
        if not (isinstance(reading.value, bool) or is_finite_number(reading.value)):
            continue
        secret = catalog.has_secret_value(criterion) or reading.secret
        if criterion.metric not in metrics or (secret and criterion.metric not in over_evaluation):
            metrics[criterion.metric] = reading.value
        over_evaluation |= {criterion.metric} if secret else set()
    return metrics


def _details(criteria: Sequence[SuccessCriterion], readings: Sequence[Reading]) -> dict[str, Any]:
    """Return the details of each metric; those that would exceed `MAX_DETAIL_BYTES` together are left out."""
    details: dict[str, Any] = {}
    size = 0
    for criterion, reading in zip(criteria, readings, strict=True):
        if reading.details is None or criterion.metric in details:
            continue
        size += len(json.dumps(reading.details, ensure_ascii=False).encode("utf-8", "replace"))
        if size > MAX_DETAIL_BYTES:
            break
        details[criterion.metric] = reading.details
    return details


def _provenance(
    metrics: Iterable[str], criteria: Sequence[SuccessCriterion], readings: Sequence[Reading], catalog: Catalog
) -> dict[str, Provenance]:
    """Return the provenance of each metric: that of its value, else that in the catalogue."""
    pairs = zip(criteria, readings, strict=True)
    own = {each.metric: reading.provenance for each, reading in pairs if reading.provenance is not None}
    return {metric: own.get(metric) or catalog.entry(metric).provenance for metric in metrics}
