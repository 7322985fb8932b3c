"""Required terms are there, but in lists, repeats or a density that no prose has: put there to be found.

Verification tells how the terms stand in the text, since governance does not know them. Prose that uses all of them,
headings, tables of figures and a glossary of terms that the prose uses too are honest.
"""

import re
from typing import Any

from aex_governance.rules.case import Case
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, KeywordStats, Severity

_SEGMENT_END = re.compile(r"(?<=[.!?;])\s+|[\n\r。！？；]+")
_MARKER = re.compile(r"^\s*(?:[-*•·–—>#]+|\d{1,3}[.)]|[A-Za-z][.)])\s+")
_WORD = re.compile(r"\w+")
_LABEL_WORDS = 8
_SENTENCE_MARKS = tuple(".!?;。！？；")
_LOOKED_AT = 50_000
"""Code points of a text whose layout is looked at."""


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Raised for any of the reasons. Stats without a text are of one of unknown length, and never a pass."""
    stats, text = case.request.keyword_stats, case.request.output_text
    if stats is None or not stats.found:
        return None
    tokens = case.text.tokens if case.text else None
    repeated = _repeated_share(text[:_LOOKED_AT]) if text else 0.0
    reasons = _reasons(stats, tokens, repeated, thresholds)
    if not reasons or (text and not _repeats(stats, repeated, thresholds) and _may_be_labels(stats, text[:_LOOKED_AT])):
        return None
    return Flag(
        rule=RULE.name,
        severity=Severity.MAJOR,
        message=f"Required terms stand in no prose: {'; '.join(reasons)}",
        evidence=_figures(stats, tokens, repeated, thresholds) | {"reasons": reasons},
    )


def _reasons(stats: KeywordStats, tokens: int | None, repeated: float, thresholds: Thresholds) -> list[str]:
    if tokens is not None and stats.found <= tokens < thresholds["min_tokens"]:
        return ["a bare list of terms"] if _is_bare_list(stats, thresholds) else []
    reasons = []
    if stats.found >= thresholds["min_found"]:
        if stats.list_share >= thresholds["min_list_share"] and stats.density >= thresholds["min_density"]:
            reasons.append("lists or repeats")
        elif stats.list_share >= thresholds["dump_list_share"]:
            reasons.append("a list beside prose that has few or none of them")
    if stats.density >= thresholds["max_prose_density"] and (tokens is None or tokens >= thresholds["long_tokens"]):
        reasons.append("a density beyond prose")
    if _repeats(stats, repeated, thresholds):
        reasons.append("the same sentences again and again")
    return reasons


def _is_bare_list(stats: KeywordStats, thresholds: Thresholds) -> bool:
    return bool(
        stats.found >= thresholds["bare_found"]
        and stats.density >= thresholds["bare_density"]
        and stats.list_share >= thresholds["dump_list_share"]
    )


def _repeats(stats: KeywordStats, repeated: float, thresholds: Thresholds) -> bool:
    return bool(
        stats.found >= thresholds["min_found"]
        and stats.density >= thresholds["repeat_density"]
        and repeated >= thresholds["max_repeated_share"]
    )


def _repeated_share(text: str) -> float:
    """Share of the text that lies in sentences or lines which came before, word for word."""
    seen: set[tuple[str, ...]] = set()
    total = again = 0
    for segment in _SEGMENT_END.split(text):
        words = tuple(_WORD.findall(segment.casefold()))
        size = sum(map(len, words))
        total += size
        again += size if words in seen else 0
        seen.add(words)
    return again / total if total else 0.0


def _may_be_labels(stats: KeywordStats, text: str) -> bool:
    """Whether there are enough headings and labelled figures for the terms in lists to be those.

    A heading is a short line above a longer one; a labelled figure is a short line with a word and a number.
    """
    lines = [_MARKER.sub("", line).strip() for line in text.splitlines() if line.strip()]
    sizes = [len(_WORD.findall(line)) for line in lines]
    labels = 0
    for line, size, below in zip(lines, sizes, [*sizes, 0][1:], strict=True):
        if 0 < size <= _LABEL_WORDS:
            is_heading = below > 2 * size and not line.endswith(_SENTENCE_MARKS) and "," not in line
            labels += is_heading or _is_figure(line)
    return labels >= max(stats.found * stats.list_share, 1)


def _is_figure(line: str) -> bool:
    words = _WORD.findall(line)
    return any(word[0].isdigit() for word in words) and any(word[0].isalpha() for word in words)


def _figures(stats: KeywordStats, tokens: int | None, repeated: float, thresholds: Thresholds) -> dict[str, Any]:
    return {
        **stats.model_dump(),
        "tokens": tokens,
        "repeated_share": round(repeated, 6),
        "min_density": thresholds["min_density"],
        "min_list_share": thresholds["min_list_share"],
        "max_prose_density": thresholds["max_prose_density"],
    }


RULE = FraudRule(
    name="keyword_stuffing",
    description=(
        "The required terms stand in lists or repeats alone, or in a density beyond that of prose. "
        "Short answers, headings and labelled figures are left alone."
    ),
    check=check,
    actions={Severity.MAJOR: Action.HOLD},
    threshold_notes={
        "min_found": "Required terms that have to be there for their place to tell anything.",
        "min_tokens": "Tokens below which a text is a short answer, and only a bare list of many terms is stuffing.",
        "bare_found": "Terms from which on a short text that is hardly more than them is a bare list.",
        "bare_density": "Share of such a text's words that belong to terms.",
        "min_list_share": "Share of the found terms that stand in lists or repeats alone, at `min_density`.",
        "min_density": "Share of the text's words that belong to terms, at `min_list_share`.",
        "dump_list_share": "Share of the found terms that stand in lists alone, beside prose, at any density.",
        "long_tokens": "Tokens from which on `max_prose_density` holds.",
        "max_prose_density": "Share of the words that belong to terms from which on no text is prose.",
        "max_repeated_share": "Share of the text in sentences or lines that came before, at `repeat_density`.",
        "repeat_density": "Share of the words that belong to terms, at `max_repeated_share`.",
    },
)
