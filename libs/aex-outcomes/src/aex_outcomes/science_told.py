"""What the science gate held against a candidate, in lines that its agent may read.

Names and codes at any level, and in words what is wrong with the agent's own files; figures, some of which come from
the consumer's own data, in full alone. Of a review nothing but what the gate made of it: a reviewer's words may quote
what was shown in confidence.
"""

from collections.abc import Iterator

from aex_models.examination import DataProblem, DomainViolation, ValueMismatch
from aex_models.faults import Fault
from aex_models.results import VerificationResult
from aex_models.science import GateReason, ScienceResult
from aex_outcomes.in_words import bounds, short, written

VALUE_MISMATCH, DOMAIN_VIOLATION = "value_mismatch", "domain_violation"
"""The reasons that are told by their figures in full."""
_TO_DO = {"nothing_recomputed": "claim at least one of", "statistic_not_claimed": "claim each of"}
"""The reasons whose names are what the agent should have claimed."""


def science_rejects(result: VerificationResult | None) -> bool:
    """Whether the science gate is against the candidate."""
    return result is not None and result.science is not None and result.science.passed is False


def science_lines(result: VerificationResult | None, *, in_full: bool) -> list[str]:
    """A line for each reason, and for each of the candidate's files that could not be used; none unless it rejects."""
    science = result.science if result else None
    if science is None or science.passed is not False:
        return []
    return [*_reasons(science, in_full), *_problems(science, in_full)]


def mismatch_told(mismatch: ValueMismatch) -> str:
    """Its figures: what was claimed, what was recomputed, and how much that matters."""
    figures = f"claimed {written(mismatch.claimed)}, recomputed {written(mismatch.actual)}"
    return f"{mismatch.name}: {figures} ({mismatch.severity})"


def violation_told(violation: DomainViolation) -> str:
    """Its figures: the value and what it may be; the violation's own words where it has no value."""
    ends = {name: end for name, end in (("min", violation.min), ("max", violation.max)) if end is not None}
    if violation.value is None or not ends:
        return f"{violation.name}: {short(violation.message)}"
    return f"{violation.name}: {written(violation.value)}, needs {bounds(ends)} ({violation.source})"


def _reasons(science: ScienceResult, in_full: bool) -> Iterator[str]:
    for reason in science.reasons:
        if in_full and reason.code == VALUE_MISMATCH and science.value_mismatches:
            yield from (f"{VALUE_MISMATCH}: {mismatch_told(each)}" for each in science.value_mismatches)
        elif in_full and reason.code == DOMAIN_VIOLATION and science.domain_violations:
            yield from (f"{DOMAIN_VIOLATION}: {violation_told(each)}" for each in science.domain_violations)
        else:
            yield _named(reason)


def _named(reason: GateReason) -> str:
    """Its code, what it is about, and what to do where that is a claim; where it is about nothing, its message."""
    names, to_do = short(", ".join(reason.names)), _TO_DO.get(reason.code)
    told = f"{to_do}: {names}" if names and to_do else names or short(reason.message)
    return f"{reason.code}: {told}" if told else reason.code


def _problems(science: ScienceResult, in_full: bool) -> Iterator[str]:
    """What is wrong with what the candidate handed in: each kind once for each file, in its own words.

    Those quote no cell; where they speak of the consumer's own data, they are told in full alone.
    """
    told: dict[tuple[str | None, str], list[DataProblem]] = {}
    for each in science.examination.problems:
        if each.fault is Fault.AGENT:
            told.setdefault((each.artifact, each.code), []).append(each)
    for (artifact, code), problems in told.items():
        names = ", ".join(each.name for each in problems if each.name)
        what = f"{short(artifact or 'artifacts')}: {code}{f' ({short(names)})' if names else ''}"
        words = next((each.message for each in problems if in_full or not each.secret), "")
        yield f"{what}: {short(words)}" if words else what
