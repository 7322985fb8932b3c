"""What the examination and the review of a candidate's claims found, as metrics that criteria can name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aex_models.catalog import Direction, MetricEntry, Requirement
from aex_models.examination import ReconciliationStatus
from aex_models.results import Provenance
from aex_models.science import OutcomeVerdict, ScienceResult, ScientificReview, ScientificValidity
from aex_models.science_checks import RECOMPUTE_STATISTICS
from aex_models.thresholds import MetricType
from aex_outcomes.extractors.examined import examined, platform_fault
from aex_outcomes.extractors.protocol import MetricValue, PlatformFault, Sourced

_HELD = frozenset({ReconciliationStatus.MATCH, ReconciliationStatus.MISMATCH})
_VALIDITY = {
    ScientificValidity.VALID: 1.0,
    ScientificValidity.QUESTIONABLE: 0.5,
    ScientificValidity.INVALID: 0.0,
}
_NO_ANSWER = frozenset({OutcomeVerdict.DOES_NOT_ANSWER, OutcomeVerdict.WRONG_ANSWER})
_BY_RANGES = ("values_plausible", "domain_violations")
_BY_DATA = ("values_consistent", "value_mismatches", "claims_not_recomputed")
_BY_REVIEW = ("answers_question", "reasoning_sound", "scientific_validity", "review_confidence")


class ScienceExtractor:
    """Reads what was concluded before the engine was asked; computes nothing itself.

    What could not be told is missing: where no claim was held against anything there is no count of mismatches. Of
    claims that nobody could recompute there are 0 where none was made.
    """

    version = "1"

    def __init__(self, domains_folder: str | Path | None = None) -> None:
        """`domains_folder`: where further domains lie, a YAML file each."""
        self.domains_folder = None if domains_folder is None else Path(domains_folder)

    async def extract(
        self,
        task_input: Mapping[str, Any],  # noqa: ARG002 part of the protocol
        task_output: Any,  # noqa: ARG002 part of the protocol
        metadata: Mapping[str, Any],
    ) -> dict[str, MetricValue]:
        """The metrics of which something is known. Raises `PlatformFault` where nothing was examined."""
        found = examined(metadata)
        return {**_of_ranges(found), **_of_data(found), **_of_review(found)}

    def supported_metrics(self) -> list[str]:
        """The nine metrics."""
        return [*_BY_RANGES, *_BY_DATA, *_BY_REVIEW]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Four from domain and data, one that says what nobody could recompute, four that need a reviewer."""
        ranges, data, review = Requirement.VALUE_RANGES, Requirement.RECOMPUTE_STATISTICS, Requirement.PEER_REVIEW
        return (
            _boolean("values_plausible", ranges),
            _count("domain_violations", ranges),
            _boolean("values_consistent", data),
            _count("value_mismatches", data),
            _count("claims_not_recomputed", data),
            _boolean("answers_question", review),
            _boolean("reasoning_sound", review),
            _score("scientific_validity", review),
            _score("review_confidence", review),
        )


def _of_ranges(found: ScienceResult) -> dict[str, MetricValue]:
    """What domain and constraints say. Secret as soon as a violation was found in the consumer's own data."""
    if found.values_plausible is None:
        fault = platform_fault(found)
        return dict.fromkeys(_BY_RANGES, fault) if fault else {}
    secret = any(each.secret for each in found.domain_violations)
    values = (found.values_plausible, len(found.domain_violations))
    return {name: Sourced(value, Provenance.COMPUTED, secret) for name, value in zip(_BY_RANGES, values, strict=True)}


def _of_data(found: ScienceResult) -> dict[str, MetricValue]:
    """What recomputation says: computed, where it rests on the consumer's own data alone, and secret where on any."""
    fault = platform_fault(found)
    if fault is not None:  # with the data that are lost, every one of them could be another
        return dict.fromkeys(_BY_DATA, fault)
    listed = found.examination.reconciliation
    recomputed = [each for each in listed if each.recomputed is not None]
    values: dict[str, bool | int] = {}
    if found.values_consistent is not None:
        values["values_consistent"] = found.values_consistent
    if any(each.status in _HELD for each in listed):
        values["value_mismatches"] = sum(each.status is ReconciliationStatus.MISMATCH for each in listed)
    if RECOMPUTE_STATISTICS in found.examination.checks:
        values["claims_not_recomputed"] = sum(each.status is ReconciliationStatus.NOT_RECOMPUTED for each in listed)
    own = bool(recomputed) and all(each.secret for each in recomputed)
    provenance = Provenance.COMPUTED if own else Provenance.SELF_REPORTED
    secret = any(each.secret for each in recomputed)
    return {name: Sourced(value, provenance, secret) for name, value in values.items()}


def _of_review(found: ScienceResult) -> dict[str, MetricValue]:
    """What only a reader can tell, as the arithmetic allows it. Without a review that is nobody's fault but ours."""
    if found.review is not None:
        return _told(found.review)
    failure = found.review_failure
    code, why = (failure.value, "there is no review") if failure else ("review_missing", "nobody has reviewed it")
    return dict.fromkeys(_BY_REVIEW, PlatformFault(code, why))


def _told(review: ScientificReview) -> dict[str, MetricValue]:
    answers = False if review.outcome_verdict in _NO_ANSWER else review.answers_original_question
    told: dict[str, bool | float | None] = {
        "answers_question": answers,
        "reasoning_sound": review.reasoning_sound,
        "scientific_validity": _VALIDITY[review.scientific_validity],
        "review_confidence": review.confidence,
    }
    return {name: value for name, value in told.items() if value is not None}


def _boolean(name: str, requirement: Requirement) -> MetricEntry:
    return MetricEntry(
        name=name,
        unit="boolean",
        direction=Direction.HIGHER,
        metric_types=(MetricType.BOOLEAN,),
        requires=(Requirement.SCIENCE, requirement),
        secret=requirement is Requirement.PEER_REVIEW,  # a reviewer may be shown what is the consumer's secret
    )


def _count(name: str, requirement: Requirement) -> MetricEntry:
    return MetricEntry(
        name=name,
        unit="values",
        range=(0, None),
        direction=Direction.LOWER,
        metric_types=(MetricType.COUNT, MetricType.NUMERIC),
        requires=(Requirement.SCIENCE, requirement),
    )


def _score(name: str, requirement: Requirement) -> MetricEntry:
    return MetricEntry(
        name=name,
        unit="fraction",
        range=(0, 1),
        direction=Direction.HIGHER,
        metric_types=(MetricType.NUMERIC, MetricType.PERCENTAGE),
        requires=(Requirement.SCIENCE, requirement),
        secret=True,
    )
