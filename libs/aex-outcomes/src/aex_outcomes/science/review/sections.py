"""The sections of a review's prompt, each with its share of the room."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from aex_models.domains import Domain, ValueRange
from aex_models.examination import DomainViolation, Examination, Reconciliation, ReconciliationStatus
from aex_models.numbers import text_of
from aex_models.science import Science
from aex_outcomes.science.review.fence import Fence, cut
from aex_outcomes.science.review.port import ReviewBrief, ReviewedFile

_PERCENT = {
    "goal": 6,
    "question": 6,
    "outcome_criteria": 8,
    "expected": 6,
    "domain": 6,
    "output": 20,
    "reasoning": 18,
    "claims": 8,
    "reconciliation": 8,
    "recomputed": 4,
    "violations": 4,
    "problems": 2,
    "files": 4,
}
"""Of the room: they add up to 100."""

_IN_ORDER = tuple(ReconciliationStatus(each) for each in ("mismatch", "not_recomputed", "not_claimed", "match"))
"""What matters comes first, lest it be cut."""


def sections(brief: ReviewBrief, fence: Fence, max_chars: int) -> dict[str, str]:
    """Each section's text by its place in the file."""
    room = {name: max_chars * share // 100 for name, share in _PERCENT.items()}
    science, found = brief.science, brief.examination
    listed: dict[str, Iterator[str]] = {
        "claims": _claims(brief.claims),
        "reconciliation": _reconciliation(found),
        "recomputed": (f"{json.dumps(each.name)} = {each.value!r}" for each in found.recomputed),
        "violations": _violations(found),
        "problems": (f"{each.code}: {each.message}" for each in found.problems),
        "files": map(_file, brief.files),
    }
    written = {
        "goal": science.original_goal,
        "question": science.question,
        "outcome_criteria": _criteria(science),
        "reasoning": brief.reasoning,
    }
    return {
        **{name: fence.around_lines(name, lines, room[name]) for name, lines in listed.items()},
        **{name: fence.around(name, text or "", room[name]) for name, text in written.items()},
        "output": fence.around("claimed result", brief.output_text, room["output"]),
        "expected": _expected(science, fence, room["expected"]),
        "domain": cut(_domain(brief.domain), room["domain"]),
    }


def _expected(science: Science, fence: Fence, room: int) -> str:
    if not science.reviewer_sees_expected or science.expected_outcome is None:
        return ""
    text = fence.around("expected outcome", _as_text(science.expected_outcome), room)
    return f"\n## What is expected (known to you, not to the agent)\n{text}\n"


def _criteria(science: Science) -> str:
    criteria = science.outcome_criteria
    return criteria if isinstance(criteria, str) else "\n".join(f"- {each}" for each in criteria)


def _claims(claims: Mapping[str, Any]) -> Iterator[str]:
    for name, value in claims.items():
        yield f"{json.dumps(name, ensure_ascii=False)} = {_as_text(value)}"


def _reconciliation(found: Examination) -> Iterator[str]:
    for status in _IN_ORDER:
        yield from (_reconciled(each) for each in found.reconciliation if each.status is status)


def _reconciled(each: Reconciliation) -> str:
    numbers = {"claimed": each.claimed, "recomputed": each.recomputed, "relative error": each.relative_error}
    told = "".join(f", {name} {value!r}" for name, value in numbers.items() if value is not None)
    severity = f" ({each.severity.value})" if each.severity else ""
    return f"{json.dumps(each.name, ensure_ascii=False)}: {each.status.value}{severity}{told}"


def _violations(found: Examination) -> Iterator[str]:
    yield from (_violation(each) for each in found.domain_violations)
    yield from (f"a finding, not held against the result: {_violation(each)}" for each in found.findings)
    if found.unchecked:
        yield f"no range covers: {', '.join(json.dumps(name, ensure_ascii=False) for name in found.unchecked)}"


def _violation(each: DomainViolation) -> str:
    bounds = f" (allowed: {_span(each.min, each.max)})" if (each.min, each.max) != (None, None) else ""
    return f"{json.dumps(each.name, ensure_ascii=False)}: {each.message}{bounds}"


def _file(each: ReviewedFile) -> str:
    named = json.dumps(each.name, ensure_ascii=False)
    columns = f", columns {json.dumps(list(each.columns), ensure_ascii=False)}" if each.columns else ""
    return f"{named}, the {each.owner.value}'s{columns}"


def _domain(domain: Domain | None) -> str:
    """The domain's words are the operator's: they need no fence."""
    if domain is None:
        return "(not one that the platform knows)"
    ranges = [f"- {name}: {_range(each)}" for name, each in domain.value_ranges.items()]
    issues = [f"- {issue}" for issue in domain.common_issues]
    parts = [f"{domain.name}: {domain.description}"]
    parts += ["Ranges:", *ranges] if ranges else []
    parts += ["Common issues:", *issues] if issues else []
    return "\n".join(parts)


def _range(each: ValueRange) -> str:
    typical = {"typical mean": each.typical_mean, "typical standard deviation": each.typical_std}
    told = "".join(f", {name} {value:g}" for name, value in typical.items() if value is not None)
    return f"{_span(each.min, each.max)}{f' {each.unit}' if each.unit else ''}{told}"


def _span(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "unbounded"
    if low is None:
        return f"at most {high:g}"
    return f"at least {low:g}" if high is None else f"{low:g} to {high:g}"


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return text_of(value)
    return json.dumps(value, ensure_ascii=False)
