"""Metrics of a candidate's scientific claims, from their examination and peer review.

The platform puts the result of the science gate into the metadata, which no agent can write. Extractors read it there.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aex_models.catalog import Direction, MetricEntry, Requirement
from aex_models.examination import RECOMPUTE_STATISTICS, DataProblem, Fault, ReconciliationStatus
from aex_models.results import Provenance
from aex_models.science import OutcomeVerdict, ScienceResult, ScientificValidity
from aex_models.thresholds import MetricType
from aex_outcomes.extractors.protocol import AgentFault, Metrics, PlatformFault, Sourced

SCIENCE = "science_result"
"""Metadata key under which only the platform writes the `ScienceResult` as JSON."""


def read_science_result(metadata: Mapping[str, Any]) -> ScienceResult:
    """Return the result of the science gate from the metadata.

    Raises `PlatformFault` if there is none, because the work has no `science`.
    """
    found = metadata.get(SCIENCE)
    if found is None:
        raise PlatformFault("science_missing", "nothing was examined: the work has no science")
    return ScienceResult.model_validate(found)


def to_extractor_fault(problem: DataProblem) -> AgentFault | PlatformFault:
    """Convert a problem with raw data to an `AgentFault` or `PlatformFault`, to replace a metric's value."""
    kind = PlatformFault if problem.fault is Fault.PLATFORM else AgentFault
    return kind(problem.code, problem.message)


def _platform_fault(result: ScienceResult) -> AgentFault | PlatformFault | None:
    """Return the first problem with raw data that is the platform's fault; None if there is none."""
    return next(
        (to_extractor_fault(each) for each in result.examination.problems if each.fault is Fault.PLATFORM), None
    )


_VALIDITY = {ScientificValidity.VALID: 1.0, ScientificValidity.QUESTIONABLE: 0.5, ScientificValidity.INVALID: 0.0}
_NO_ANSWER = frozenset({OutcomeVerdict.DOES_NOT_ANSWER, OutcomeVerdict.WRONG_ANSWER})
_BY_RANGES = {"values_plausible": "boolean", "domain_violations": "values"}
_BY_DATA = {"values_consistent": "boolean", "value_mismatches": "values", "claims_not_recomputed": "values"}
_BY_REVIEW = {
    "answers_question": "boolean",
    "reasoning_sound": "boolean",
    "scientific_validity": "fraction",
    "review_confidence": "fraction",
}
"""Units by metric."""
_MEANINGS = {
    "values_plausible": "True if no checked value is outside its range.",
    "domain_violations": "Number of values outside their range, and of failed sanity checks that `checks` names.",
    "values_consistent": "True if all demanded statistics, or else all recomputed claims, match the raw data.",
    "value_mismatches": "Number of claims that differ from the raw data.",
    "claims_not_recomputed": "Number of claims that nothing recomputes from raw data.",
    "answers_question": "True if the reviewer says that the result answers the question.",
    "reasoning_sound": "True if the reviewer says that the reasoning is sound.",
    "scientific_validity": "Validity by the reviewer: 1 for valid, 0.5 for questionable, 0 for invalid.",
    "review_confidence": "The reviewer's own confidence.",
}
_BY_UNIT: Mapping[str, Mapping[str, Any]] = {
    "boolean": {"direction": Direction.HIGHER, "metric_types": (MetricType.BOOLEAN,)},
    "values": {
        "range": (0, None),
        "direction": Direction.LOWER,
        "metric_types": (MetricType.COUNT, MetricType.NUMERIC),
    },
    "fraction": {
        "range": (0, 1),
        "direction": Direction.HIGHER,
        "metric_types": (MetricType.NUMERIC, MetricType.PERCENTAGE),
    },
}


class ScienceExtractor:
    """Extractor of the metrics that the science gate's result contains.

    A metric is missing if the gate has no result for it: for example, `value_mismatches` if no claim was compared.
    """

    version = "1"
    domains_folder: Path | None
    """Folder of further scientific domains, one YAML file each. Unset: the packaged domains only."""

    def __init__(self, domains_folder: str | Path | None = None) -> None:
        self.domains_folder = None if domains_folder is None else Path(domains_folder)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return the metrics in the science gate's result, which `metadata` holds; the output is not read.

        Raises `PlatformFault` if the work has no `science`.
        """
        found = read_science_result(metadata)
        return {**_range_metrics(found), **_data_metrics(found), **_review_metrics(found)}

    def supported_metrics(self) -> list[str]:
        return [*_BY_RANGES, *_BY_DATA, *_BY_REVIEW]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        return (
            *_entries(_BY_RANGES, Requirement.VALUE_RANGES),
            *_entries(_BY_DATA, Requirement.RECOMPUTE_STATISTICS),
            *_entries(_BY_REVIEW, Requirement.PEER_REVIEW),
        )


def _entries(units: Mapping[str, str], requirement: Requirement) -> Iterator[MetricEntry]:
    requires, secret = (Requirement.SCIENCE, requirement), requirement is Requirement.PEER_REVIEW
    for name, unit in units.items():  # a judge may read the consumer's secrets
        text = _MEANINGS[name]
        yield MetricEntry(name=name, description=text, unit=unit, requires=requires, secret=secret, **_BY_UNIT[unit])


def _range_metrics(found: ScienceResult) -> Metrics:
    """Return the metrics of ranges and sanity checks; they are secret if a violation is.

    After a platform's fault without any result, the fault is the value of each.
    """
    if found.values_plausible is None:
        fault = _platform_fault(found)
        return dict.fromkeys(_BY_RANGES, fault) if fault else {}
    secret = any(each.secret for each in found.domain_violations)
    values = (found.values_plausible, len(found.domain_violations))
    return {name: Sourced(value, Provenance.COMPUTED, secret) for name, value in zip(_BY_RANGES, values, strict=True)}


def _data_metrics(found: ScienceResult) -> Metrics:
    """Return the metrics of recomputed claims; after a platform's fault, the fault is the value of each.

    Their provenance is `computed` if all recomputed values come from the consumer's data, else `self_reported`. They
    are secret if any value comes from the consumer's data.
    """
    fault = _platform_fault(found)
    if fault is not None:  # every value could differ with the unread data
        return dict.fromkeys(_BY_DATA, fault)
    reconciliations = found.examination.reconciliation
    recomputed = [each for each in reconciliations if each.recomputed is not None]
    counts = Counter(each.status for each in reconciliations)
    values: dict[str, bool | int] = {}
    if found.values_consistent is not None:
        values["values_consistent"] = found.values_consistent
    if counts[ReconciliationStatus.MATCH] or counts[ReconciliationStatus.MISMATCH]:
        values["value_mismatches"] = counts[ReconciliationStatus.MISMATCH]
    if RECOMPUTE_STATISTICS in found.examination.checks:
        values["claims_not_recomputed"] = counts[ReconciliationStatus.NOT_RECOMPUTED]
    is_own = bool(recomputed) and all(each.secret for each in recomputed)
    provenance = Provenance.COMPUTED if is_own else Provenance.SELF_REPORTED
    secret = any(each.secret for each in recomputed)
    return {name: Sourced(value, provenance, secret) for name, value in values.items()}


def _review_metrics(found: ScienceResult) -> Metrics:
    """Return the metrics of the peer review as the gate capped it; faults if there is no review."""
    review, failure = found.review, found.review_failure
    if review is None:
        code, why = (failure.value, "there is no review") if failure else ("review_missing", "no peer review was made")
        return dict.fromkeys(_BY_REVIEW, PlatformFault(code, why))
    answers = False if review.outcome_verdict in _NO_ANSWER else review.answers_original_question
    values: dict[str, bool | float | None] = {
        "answers_question": answers,
        "reasoning_sound": review.reasoning_sound,
        "scientific_validity": _VALIDITY[review.scientific_validity],
        "review_confidence": review.confidence,
    }
    return {name: value for name, value in values.items() if value is not None}
