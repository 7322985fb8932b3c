"""Prompt of a peer review: a packaged Markdown template, filled with fenced texts of the candidate.

Each section may use a fixed share of the prompt's maximum length.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from aex_models.domains import Domain, ValueRange
from aex_models.examination import DomainViolation, Examination, Reconciliation, ReconciliationStatus
from aex_models.numbers import format_as_written
from aex_models.science import Science
from aex_outcomes.science.mixed import format_mixing, hide_group_value
from aex_outcomes.science.peer_review_fence import Fence, truncate_middle
from aex_outcomes.science.peer_review_port import ReviewBrief, ReviewedFile

_PERCENT = {
    **{"goal": 6, "question": 6, "outcome_criteria": 8, "expected": 6, "domain": 6},
    **{"output": 20, "reasoning": 18, "claims": 8, "reconciliation": 8},
    **{"recomputed": 4, "violations": 4, "problems": 2, "files": 4},
}
"""Share of the maximum length in percent, by section; the sum is 100."""
_BY_IMPORTANCE = tuple(ReconciliationStatus(each) for each in ("mismatch", "not_recomputed", "not_claimed", "match"))
"""Order of reconciliations in the prompt: the last lines may be cut."""


def build_prompt_sections(brief: ReviewBrief, fence: Fence, max_chars: int) -> dict[str, str]:
    """Return each section's text, fenced and cut to its share of `max_chars`, by placeholder.

    The domain's text is not fenced, because it is the operator's. The expected outcome is empty where the work does not
    show it to reviewers.
    """
    limits = {name: max_chars * share // 100 for name, share in _PERCENT.items()}
    science, found = brief.science, brief.examination
    criteria = science.outcome_criteria
    reconciled = sorted(found.reconciliation, key=lambda each: _BY_IMPORTANCE.index(each.status))
    listed: dict[str, Iterator[str]] = {
        "claims": (f"{_quote(name)} = {_as_text(value)}" for name, value in brief.claims.items()),
        "reconciliation": (_describe_reconciliation(each, _displayed_name(each.name, brief)) for each in reconciled),
        "recomputed": (
            f"{json.dumps(_displayed_name(each.name, brief))} = {each.value!r}" for each in found.recomputed
        ),
        "violations": _violations(found),
        "problems": (f"{each.code}: {each.message}" for each in found.problems),
        "files": map(_describe_file, brief.files),
    }
    written = {
        "goal": science.original_goal,
        "question": science.question,
        "outcome_criteria": criteria if isinstance(criteria, str) else "\n".join(f"- {each}" for each in criteria),
        "reasoning": brief.reasoning,
    }
    return {
        **{name: fence.enclose_lines(name, lines, limits[name]) for name, lines in listed.items()},
        **{name: fence.enclose(name, text or "", limits[name]) for name, text in written.items()},
        "output": fence.enclose("claimed result", brief.output_text, limits["output"]),
        "expected": _expected_section(science, fence, limits["expected"]),
        "domain": truncate_middle(_domain(brief.domain), limits["domain"]),
    }


def _expected_section(science: Science, fence: Fence, max_chars: int) -> str:
    if not science.reviewer_sees_expected or science.expected_outcome is None:
        return ""
    text = fence.enclose("expected outcome", _as_text(science.expected_outcome), max_chars)
    return f"\n## What is expected (known to you, not to the agent)\n{text}\n"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _displayed_name(name: str, brief: ReviewBrief) -> str:
    """Return the name of a statistic; its group, a cell of the data, is hidden unless it was claimed."""
    return name if name in brief.claims else hide_group_value(name)


def _describe_reconciliation(each: Reconciliation, name: str) -> str:
    numbers = {"claimed": each.claimed, "recomputed": each.recomputed, "relative error": each.relative_error}
    details = "".join(f", {name} {value!r}" for name, value in numbers.items() if value is not None)
    severity = f" ({each.severity.value})" if each.severity else ""
    return f"{_quote(name)}: {each.status.value}{severity}{details}"


def _violations(found: Examination) -> Iterator[str]:
    yield from (_describe_violation(each) for each in found.domain_violations)
    yield from (f"a finding, not held against the result: {_describe_violation(each)}" for each in found.findings)
    # Groups of the consumer's data are cells, which no reviewer sees.
    yield from (
        f"groups that may not be mixed: {format_mixing(each, with_groups=False)}" for each in found.mixed_groups
    )
    if found.unchecked:
        yield f"no range covers: {', '.join(map(_quote, found.unchecked))}"


def _describe_violation(each: DomainViolation) -> str:
    bounds = f" (allowed: {_describe_bounds(each.min, each.max)})" if (each.min, each.max) != (None, None) else ""
    return f"{_quote(each.name)}: {each.message}{bounds}"


def _describe_file(each: ReviewedFile) -> str:
    columns = f", columns {json.dumps(each.columns, ensure_ascii=False)}" if each.columns else ""
    return f"{_quote(each.name)}, the {each.owner.value}'s{columns}"


def _domain(domain: Domain | None) -> str:
    """Return the description, ranges and common issues of the domain as lines."""
    if domain is None:
        return "(not one that the platform knows)"
    ranges = [f"- {name}: {_describe_range(each)}" for name, each in domain.value_ranges.items()]
    issues = [f"- {issue}" for issue in domain.common_issues]
    parts = [f"{domain.name}: {domain.description}"]
    parts += ["Ranges:", *ranges] if ranges else []
    parts += ["Common issues:", *issues] if issues else []
    return "\n".join(parts)


def _describe_range(each: ValueRange) -> str:
    typical = {"typical mean": each.typical_mean, "typical standard deviation": each.typical_std}
    details = "".join(f", {name} {value:g}" for name, value in typical.items() if value is not None)
    return f"{_describe_bounds(each.min, each.max)}{f' {each.unit}' if each.unit else ''}{details}"


def _describe_bounds(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "unbounded"
    if low is None:
        return f"at most {high:g}"
    return f"at least {low:g}" if high is None else f"{low:g} to {high:g}"


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return format_as_written(value)
    return json.dumps(value, ensure_ascii=False)


MAX_CHARS = 60_000
"""Default maximum of characters that are filled into the template: about 15,000 tokens."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Prompt of one review, or its template with placeholders."""

    instructions: str
    """System message."""
    material: str
    """User message: the texts to judge."""
    version: str
    """Version of the packaged template."""


def render_review_prompt(brief: ReviewBrief, nonce: str, max_chars: int = MAX_CHARS) -> Prompt:
    """Return the prompt for the review of one candidate.

    `nonce`: at least 16 random letters and digits, new for each prompt; else `ValueError`. `max_chars` bounds the
    filled-in texts together, without the template, fences and marks of omissions. Placeholders within a filled-in text
    are not replaced.
    """
    template = load_prompt_template()
    filled = {"nonce": nonce, **build_prompt_sections(brief, Fence(nonce), max_chars)}
    instructions, material = (
        re.sub(r"\{\{([a-z_]+)\}\}", lambda match: filled[match[1]], part)
        for part in (template.instructions, template.material)
    )
    return Prompt(instructions, material, template.version)


@cache
def load_prompt_template() -> Prompt:
    """Read the packaged template `peer_review_prompt.md`, whose first line names its version."""
    text = (files(__package__) / "peer_review_prompt.md").read_text(encoding="utf-8")
    first, _, rest = text.partition("\n")
    instructions, _, material = rest.partition("<!-- material -->")
    return Prompt(instructions.strip(), material.strip(), first.removeprefix("version:").strip())
