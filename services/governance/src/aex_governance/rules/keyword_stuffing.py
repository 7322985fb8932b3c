"""Fraud rule against required keywords placed in lists or repeats, or in a density that no prose has.

Verification counts the keywords; governance does not know them. These are honest: prose that contains all keywords,
headings, tables of figures, and a glossary of words that the prose uses.
"""

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_governance.text.layout import begins_with_headed_list, compute_repeated_share, may_be_headings_or_labels
from aex_models.governance import Action, Flag, KeywordStats, Severity

_MAX_READ = 50_000
"""Characters (code points) of the output whose layout is analysed."""
_BESIDE_PROSE = "a list beside prose that has few or none of them"


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a major flag with every reason found; None if there is none.

    Keyword statistics without a text are judged as those of a long text.
    """
    stats, text = case.request.keyword_stats, case.request.output_text
    if stats is None or not stats.found:
        return None
    tokens = case.text.tokens if case.text else None
    repeated = compute_repeated_share(text[:_MAX_READ]) if text else 0.0
    reasons = _reasons(stats, tokens, repeated, thresholds)
    if not reasons or (
        text and not _repeats(stats, repeated, thresholds) and may_be_headings_or_labels(stats, text[:_MAX_READ])
    ):
        return None
    if text and reasons == [_BESIDE_PROSE] and begins_with_headed_list(text[:_MAX_READ]):
        return None
    return Flag(
        rule=RULE.name,
        severity=Severity.MAJOR,
        message=f"Required terms stand in no prose: {'; '.join(reasons)}",
        evidence={
            **stats.model_dump(),
            "tokens": tokens,
            "repeated_share": round(repeated, 6),
            **{name: thresholds[name] for name in ("min_density", "min_list_share", "max_prose_density")},
            "reasons": reasons,
        },
    )


def _reasons(stats: KeywordStats, tokens: int | None, repeated: float, thresholds: Thresholds) -> list[str]:
    if tokens is not None and stats.found <= tokens < thresholds["min_tokens"]:
        is_list = stats.found >= thresholds["bare_found"] and stats.list_share >= thresholds["dump_list_share"]
        return ["a bare list of terms"] if is_list and stats.density >= thresholds["bare_density"] else []
    reasons = []
    if stats.found >= thresholds["min_found"]:
        if stats.list_share >= thresholds["min_list_share"] and stats.density >= thresholds["min_density"]:
            reasons.append("lists or repeats")
        elif stats.list_share >= thresholds["half_list_share"] and stats.density >= thresholds["half_density"]:
            reasons.append("lists or repeats, dense as no prose is")
        elif stats.list_share >= thresholds["dump_list_share"]:
            reasons.append(_BESIDE_PROSE)
    if _is_too_dense(stats, tokens, thresholds):
        reasons.append("a density beyond prose")
    if _repeats(stats, repeated, thresholds):
        reasons.append("the same sentences repeatedly")
    return reasons


def _is_too_dense(stats: KeywordStats, tokens: int | None, thresholds: Thresholds) -> bool:
    if stats.density >= thresholds["max_prose_density"] and (tokens is None or tokens >= thresholds["long_tokens"]):
        return True
    is_run_on = stats.found >= thresholds["run_on_found"] and stats.density >= thresholds["run_on_density"]
    return is_run_on and (tokens is None or tokens >= thresholds["run_on_tokens"])


def _repeats(stats: KeywordStats, repeated: float, thresholds: Thresholds) -> bool:
    return bool(
        stats.found >= thresholds["min_found"]
        and stats.density >= thresholds["repeat_density"]
        and repeated >= thresholds["max_repeated_share"]
    )


RULE = FraudRule(
    name="keyword_stuffing",
    description=(
        "The required terms stand in lists or repeats alone, or in a density beyond that of prose. "
        "Short answers, headings and labelled figures are left alone."
    ),
    check=check,
    actions={Severity.MAJOR: Action.HOLD},
    threshold_notes={
        "min_found": "Required terms that have to be there for the rule to apply.",
        "min_tokens": "Tokens below which a text is a short answer, and only a bare list of many terms is stuffing.",
        "bare_found": "Terms from which on a short text that is hardly more than them is a bare list.",
        "bare_density": "Share of such a text's words that belong to terms.",
        "min_list_share": "Share of the found terms that stand in lists or repeats alone, at `min_density`.",
        "min_density": "Share of the text's words that belong to terms, at `min_list_share`.",
        "half_list_share": "The same share, at `half_density`.",
        "half_density": "Share of the text's words that belong to terms, at `half_list_share`.",
        "run_on_found": "Required terms from which on `run_on_density` holds.",
        "run_on_tokens": "Tokens from which on `run_on_density` holds: shorter sentences may be dense.",
        "run_on_density": "Share of the words that belong to terms from which on they are but strung together.",
        "dump_list_share": "Share of the found terms that stand in lists alone, beside prose, at any density.",
        "long_tokens": "Tokens from which on `max_prose_density` holds.",
        "max_prose_density": "Share of the words that belong to terms from which on no text is prose.",
        "max_repeated_share": "Share of the text in sentences or lines that came before, at `repeat_density`.",
        "repeat_density": "Share of the words that belong to terms, at `max_repeated_share`.",
    },
)
