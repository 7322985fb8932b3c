"""What an agent is told of a candidate that did not pass: compact, deterministic XML, at most 4 kB (spec file 3)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_models.numbers import is_number
from aex_models.results import CUSTOM_METRIC_FAILED, METRIC_MISSING, CriterionResult, VerificationResult
from aex_models.work import FeedbackLevel, Problem
from aex_outcomes.engine.aggregating import Scale
from aex_outcomes.in_words import needed, short, written
from aex_outcomes.science_told import science_lines, science_rejects
from aex_outcomes.xml_text import attribute, element, escaped, one_line

CRITERIA_NOT_MET = "criteria_not_met"
"""The code of a rejection by the criteria."""
SCIENCE_NOT_PASSED = "science_not_passed"
"""The code of a rejection by the science gate alone."""
MAX_MESSAGE = 2_000
"""Bytes of a verifier's own message."""
_MAX_CODE = 300
_MAX_LINE = 1_200
_CLOSING = "</verification_rejected>"


def render_feedback(
    result: VerificationResult | None,
    *,
    attempt: int,
    max_attempts: int,
    level: FeedbackLevel,
    code: str | None = None,
    message: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> str:
    """The feedback on a rejected candidate.

    `code`, `message` and `metadata` (JSON) are a verifier's; without a code it is `rejection_code`, without a message
    the summary counts the unmet criteria and names the science gate.
    Below level `full` no value is told and no metadata, and at `none` nothing but the first line: code and attempts.
    """
    code = rejection_code(result) if code is None else code
    opening = (
        f'<verification_rejected code="{attribute(code, _MAX_CODE)}" attempt="{attempt}" max_attempts="{max_attempts}">'
    )
    if level is FeedbackLevel.NONE:
        return f"{opening}\n{_CLOSING}"
    lines = [f"- {_line(each, level)}" for each in _unmet(result)]
    lines += [f"- {escaped(each, _MAX_LINE)}" for each in science_lines(result, in_full=level is FeedbackLevel.FULL)]
    if level is FeedbackLevel.FULL:
        lines += [f"- {_member(key, value)}" for key, value in sorted((metadata or {}).items())]
    summary = _counted(result) if message is None else escaped(message, MAX_MESSAGE)
    return element(opening, [f"Summary: {summary}"], lines, _CLOSING)


def render_invalid(errors: Sequence[Problem]) -> str:
    """The answer to an output that is not of the verifier's output type: it was not judged, and used no attempt."""
    lines = [escaped(f"- {each.path or '/'}: {each.message}", _MAX_LINE) for each in errors]
    return element(f'<output_invalid errors="{len(errors)}">', [], lines, "</output_invalid>")


def render_repeated(*, attempt: int, max_attempts: int, replays: int, max_replays: int) -> str:
    """The answer to a candidate that was rejected before. `replays`: how often in a row it has been repeated by now."""
    told = f'attempt="{attempt}" max_attempts="{max_attempts}" replays="{replays}" max_replays="{max_replays}"'
    sentence = "This candidate was rejected before: it was not judged again and used no attempt. Change it."
    return element(f"<candidate_repeated {told}>", [sentence], [], "</candidate_repeated>")


def summary_of(result: VerificationResult | None, message: str | None) -> str:
    """What the summary says, for contract events: bounded like it, but plain text."""
    return _counted(result) if message is None else one_line(message, MAX_MESSAGE)


def rejection_code(result: VerificationResult | None, criteria: SuccessCriteria | None = None) -> str:
    """What rejected a candidate, no verifier asked: the criteria, or else the science gate.

    Without `criteria`, the work's, one that is unmet counts as all of them, also where `any` or `weighted` takes it.
    """
    if not science_rejects(result) or result is None:
        return CRITERIA_NOT_MET
    met = [each.met for each in result.criterion_results]
    return SCIENCE_NOT_PASSED if all(met) or (criteria and Scale.of(criteria).succeeds(met)) else CRITERIA_NOT_MET


def _counted(result: VerificationResult | None) -> str:
    unmet = f"{len(_unmet(result))} of {len(result.criterion_results) if result else 0} criteria not met."
    if not science_rejects(result):
        return unmet
    gate = "The scientific verification is not passed."
    return f"{unmet} {gate}" if _unmet(result) else gate


def _unmet(result: VerificationResult | None) -> list[CriterionResult]:
    return [each for each in result.criterion_results if not each.met] if result else []


def _member(key: str, value: Any) -> str:
    """One member of a rejection's metadata."""
    plain = isinstance(value, str) or is_number(value)
    told = written(value) if plain else short(json.dumps(value, ensure_ascii=False, sort_keys=True, default=str))
    return escaped(f"{short(key)}: {told}", _MAX_LINE)


def _line(result: CriterionResult, level: FeedbackLevel) -> str:
    if level is not FeedbackLevel.FULL:
        return escaped(f"{result.metric}: not met{_why(result)}", _MAX_LINE)
    return escaped(f"{result.metric}: {_found(result)}, needs {needed(result)}", _MAX_LINE)


def _why(result: CriterionResult) -> str:
    """The code of what went wrong. A secret metric's is told only where the candidate lacks what it is about:
    any other may depend on the evaluation data, as whether there are as many predictions as true labels does.
    """
    if result.error is None or (result.secret and result.error.code != METRIC_MISSING):
        return ""
    return f" ({result.error.code})"


def _found(result: CriterionResult) -> str:
    if result.error is None:
        return written(result.value)
    if result.error.code == METRIC_MISSING:
        return "missing"
    if result.error.code == CUSTOM_METRIC_FAILED:  # what custom code says is never the agent's to read
        return result.error.code
    return f"{result.error.code}: {short(result.error.message)}"
