"""Feedback on a rejected or invalid candidate: compact, deterministic XML of at most 4 kB.

Names, codes, and messages about the agent's own files appear at the levels `criteria` and `full`. Figures of the
platform appear only at `full`. A verifier's own message appears at `criteria` too, and so do its metadata with
`always_with_metadata`. The text of a peer review may quote confidential data. So only the gate's result appears, and
the review's issues only if the work shares them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_models.examination import MIXED_GROUPS, DataProblem, DomainViolation, Fault, ValueMismatch
from aex_models.numbers import is_finite_number
from aex_models.results import CUSTOM_METRIC_FAILED, METRIC_MISSING, CriterionResult, VerificationResult
from aex_models.science import GateReason, ReviewQuotes, ScienceResult
from aex_models.work import FeedbackLevel, Problem
from aex_outcomes.engine.verdict import CriteriaWeights
from aex_outcomes.evaluation_counts import BY_TESTS
from aex_outcomes.formatting import (
    escape_attribute,
    escape_element_text,
    format_bounds,
    format_requirement,
    format_value,
    render_bounded_element,
    to_one_line,
    truncate,
)
from aex_outcomes.science.mixed import format_mixing

VALUE_MISMATCH, DOMAIN_VIOLATION = "value_mismatch", "domain_violation"
"""Codes of the reasons that have figures at level `full`."""
CRITERIA_NOT_MET, SCIENCE_NOT_PASSED = "criteria_not_met", "science_not_passed"
"""Codes of a rejection by the criteria, and by the science gate alone."""
CANDIDATE_REPEATED = "candidate_repeated"
REPEATED = "This candidate was rejected before: it was not judged again and used no attempt. Change it."
MAX_MESSAGE = 2_000
"""Maximum bytes of a verifier's own message."""
_MAX_CODE, _MAX_LINE = 300, 1_200
_MAX_REVIEW = 2_000
"""Maximum bytes of a peer review that a rejection quotes, escaped."""
_CLOSING = "</verification_rejected>"
_TO_DO = {
    "nothing_recomputed": "claim at least one of",
    "statistic_not_claimed": "claim each of",
    MIXED_GROUPS: "claim of each group, not of all rows",
}
"""Instruction before the names of claims, by code of the reason."""


def is_rejected_by_science(result: VerificationResult | None) -> bool:
    """Return True if the science gate rejected the candidate, False if it did not or there is none."""
    return result is not None and result.science is not None and result.science.passed is False


def describe_science_rejection(result: VerificationResult | None, *, with_figures: bool) -> list[str]:
    """Return a line for each reason of the science gate's rejection, and for each unusable file.

    Empty if the gate did not reject the candidate. `with_figures`: claimed and recomputed values appear.
    """
    if result is None or result.science is None or not is_rejected_by_science(result):
        return []
    mixed = (format_mixing(each, with_groups=with_figures) for each in result.science.mixed_groups)
    review = _quote_review(result.science, with_figures)
    return [*_reasons(result.science, with_figures), *review, *mixed, *_problems(result.science, with_figures)]


def format_mismatch(mismatch: ValueMismatch) -> str:
    """Return one line about a mismatch: name, claimed and recomputed value, severity."""
    figures = f"claimed {format_value(mismatch.claimed)}, recomputed {format_value(mismatch.actual)}"
    return f"{mismatch.name}: {figures} ({mismatch.severity})"


def format_violation(violation: DomainViolation) -> str:
    """Return one line about a violation: name, value and bounds, or the message if it has no value."""
    ends = {name: end for name, end in (("min", violation.min), ("max", violation.max)) if end is not None}
    if violation.value is None or not ends:
        return f"{violation.name}: {truncate(violation.message)}"
    return f"{violation.name}: {format_value(violation.value)}, needs {format_bounds(ends)} ({violation.source})"


def _reasons(science: ScienceResult, in_full: bool) -> Iterator[str]:
    for reason in science.reasons:
        if in_full and reason.code == VALUE_MISMATCH and science.value_mismatches:
            yield from (f"{VALUE_MISMATCH}: {format_mismatch(each)}" for each in science.value_mismatches)
        elif in_full and reason.code == DOMAIN_VIOLATION and science.domain_violations:
            yield from (f"{DOMAIN_VIOLATION}: {format_violation(each)}" for each in science.domain_violations)
        else:
            yield _describe_reason(reason)


def _quote_review(science: ScienceResult, in_full: bool) -> Iterator[str]:
    """Yield issues and missing parts of a shared peer review, up to `_MAX_REVIEW` bytes as escaped text."""
    least = ReviewQuotes.AT_FULL if in_full else ReviewQuotes.AT_CRITERIA
    if science.review is None or science.review_quotes not in {least, ReviewQuotes.AT_CRITERIA}:
        return
    lines = [f"review: {text}" for text in science.review.issues]
    lines += [f"review: missing for a conclusion: {text}" for text in science.review.missing_for_conclusion]
    left = _MAX_REVIEW
    for line in lines:
        left -= len(escape_element_text(line, _MAX_LINE).encode()) + 1
        if left < 0:
            return
        yield line


def _describe_reason(reason: GateReason) -> str:
    """Return the reason's code with its names, or with its message if it has none."""
    names, to_do = truncate(", ".join(reason.names)), _TO_DO.get(reason.code)
    text = f"{to_do}: {names}" if names and to_do else names or truncate(reason.message)
    return f"{reason.code}: {text}" if text else reason.code


def _problems(science: ScienceResult, in_full: bool) -> Iterator[str]:
    """Yield a line for each kind of problem of each of the candidate's files.

    Messages quote no cell. Those about the consumer's own data are left out unless `in_full`.
    """
    text: dict[tuple[str | None, str], list[DataProblem]] = {}
    for each in science.examination.problems:
        if each.fault is Fault.AGENT and each.code != MIXED_GROUPS:  # the groups have a line of their own
            text.setdefault((each.artifact, each.code), []).append(each)
    for (artifact, code), problems in text.items():
        names = ", ".join(each.name for each in problems if each.name)
        what = f"{truncate(artifact or 'artifacts')}: {code}{f' ({truncate(names)})' if names else ''}"
        words = next((each.message for each in problems if in_full or not each.secret), "")
        yield f"{what}: {truncate(words)}" if words else what


def render_feedback(
    result: VerificationResult | None,
    *,
    attempt: int,
    max_attempts: int,
    level: FeedbackLevel,
    code: str | None = None,
    message: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    always_with_metadata: bool = False,
) -> str:
    """Return the feedback on a rejected candidate, as an XML element of at most 4 kB.

    `code`, `message` and `metadata` (JSON) come from a verifier. Without a code it is `derive_rejection_code(result)`.
    Without a message the summary counts the unmet criteria and names the science gate. Values appear only at level
    `full`. Metadata appear there too, and with `always_with_metadata` at `criteria`. At `none` the element has only its
    code and attempts.
    """
    code = derive_rejection_code(result) if code is None else code
    attempts = f'attempt="{attempt}" max_attempts="{max_attempts}"'
    opening = f'<verification_rejected code="{escape_attribute(code, _MAX_CODE)}" {attempts}>'
    if level is FeedbackLevel.NONE:
        return f"{opening}\n{_CLOSING}"
    details = result.details if result else {}
    lines = [f"- {_line(each, level, details.get(each.metric))}" for each in _unmet_results(result)]
    in_full = level is FeedbackLevel.FULL
    science_lines = describe_science_rejection(result, with_figures=in_full)
    lines += [f"- {escape_element_text(each, _MAX_LINE)}" for each in science_lines]
    if in_full or always_with_metadata:
        lines += [f"- {_member(key, value)}" for key, value in sorted((metadata or {}).items())]
    summary = _describe_counts(result) if message is None else escape_element_text(message, MAX_MESSAGE)
    return render_bounded_element(opening, [f"Summary: {summary}"], lines, _CLOSING)


def render_invalid_output(errors: Sequence[Problem]) -> str:
    """Return the feedback on an output of a wrong type, which has no verdict and uses no attempt, as XML."""
    lines = [escape_element_text(f"- {each.path or '/'}: {each.message}", _MAX_LINE) for each in errors]
    return render_bounded_element(f'<output_invalid errors="{len(errors)}">', [], lines, "</output_invalid>")


def render_repeat_feedback(*, attempt: int, max_attempts: int, replays: int, max_replays: int) -> str:
    """Return the feedback on a candidate that was rejected before, as XML. `replays`: consecutive repeats."""
    text = f'attempt="{attempt}" max_attempts="{max_attempts}" replays="{replays}" max_replays="{max_replays}"'
    return render_bounded_element(f"<{CANDIDATE_REPEATED} {text}>", [REPEATED], [], f"</{CANDIDATE_REPEATED}>")


def summarize_rejection(result: VerificationResult | None, message: str | None) -> str:
    """Return one line of plain text about a rejection, for contract events.

    It is the verifier's `message`, cut at 2,000 bytes. If that is None, it is the number of unmet criteria and the
    result of the science gate.
    """
    return _describe_counts(result) if message is None else to_one_line(message, MAX_MESSAGE)


def derive_rejection_code(result: VerificationResult | None, criteria: SuccessCriteria | None = None) -> str:
    """Return the code of a rejection by the engine alone: `criteria_not_met` or `science_not_passed`.

    It is `science_not_passed` if the science gate rejected the candidate and the criteria succeeded. If `criteria` is
    None, they count as failed if any is unmet, also under `any` or `weighted`.
    """
    if not is_rejected_by_science(result) or result is None:
        return CRITERIA_NOT_MET
    met = [each.met for each in result.criterion_results]
    succeeds = all(met) or (criteria is not None and CriteriaWeights.from_criteria(criteria).succeeds(met))
    return SCIENCE_NOT_PASSED if succeeds else CRITERIA_NOT_MET


def _describe_counts(result: VerificationResult | None) -> str:
    unmet = f"{len(_unmet_results(result))} of {len(result.criterion_results) if result else 0} criteria not met."
    if not is_rejected_by_science(result):
        return unmet
    gate = "The scientific verification is not passed."
    return f"{unmet} {gate}" if _unmet_results(result) else gate


def _unmet_results(result: VerificationResult | None) -> list[CriterionResult]:
    return [each for each in result.criterion_results if not each.met] if result else []


def _member(key: str, value: Any) -> str:
    is_plain = isinstance(value, str) or is_finite_number(value)
    text = format_value(value if is_plain else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str))
    return escape_element_text(f"{truncate(key)}: {text}", _MAX_LINE)


def _line(result: CriterionResult, level: FeedbackLevel, details: Any) -> str:
    tests = describe_hidden_tests(details, with_names=level is FeedbackLevel.FULL) if result.metric in BY_TESTS else ""
    if level is not FeedbackLevel.FULL:
        return escape_element_text(f"{result.metric}: not met{_explain_error(result)}{tests}", _MAX_LINE)
    return escape_element_text(
        f"{result.metric}: {_describe_value(result)}, needs {format_requirement(result)}{tests}", _MAX_LINE
    )


def describe_hidden_tests(details: Any, *, with_names: bool) -> str:
    """Return the number of passed hidden tests, and with `with_names` the failed tests; empty if unknown."""
    if not details:
        return ""
    failed = [str(each["name"]) for each in details if each["outcome"] != "passed"]
    counts = f"; {len(details) - len(failed)} of {len(details)} tests passed"
    return f"{counts}; failed: {truncate(', '.join(failed))}" if with_names and failed else counts


def _explain_error(result: CriterionResult) -> str:
    # Another code of a secret metric may depend on the evaluation data, such as the number of true labels.
    if result.error is None or (result.secret and result.error.code != METRIC_MISSING):
        return ""
    return f" ({result.error.code})"


def _describe_value(result: CriterionResult) -> str:
    if result.error is None:
        return format_value(result.value)
    if result.error.code == METRIC_MISSING:
        return "missing"
    if result.error.code == CUSTOM_METRIC_FAILED:  # messages of custom code are not for the agent
        return result.error.code
    return f"{result.error.code}: {truncate(result.error.message)}"
