"""Fraud rule against outputs that copy the hidden reference.

A short output, or a list of short items, that equals the reference is a correct answer.
"""

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_governance.text.layout import has_no_prose
from aex_models.governance import Action, Flag, ReferenceSimilarity, Severity

_MAX_EXCERPT = 200
_MAX_READ = 20_000
"""Characters (code points) that are read to recognise the kind of text."""


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a critical flag if any of ROUGE-L, BLEU and likeness reaches its threshold; None otherwise.

    A similarity without a text is judged as that of a long text.
    """
    similarity, text = case.request.reference_similarity, case.request.output_text
    if similarity is None:
        return None
    tokens = case.text.tokens if case.text else None
    if tokens is not None and tokens < thresholds["min_tokens"]:
        return None
    found = _exceeded_figures(similarity, text, thresholds)
    if not found or (text is not None and has_no_prose(text[:_MAX_READ])):
        return None
    return Flag(
        rule=RULE.name,
        severity=Severity.CRITICAL,
        message=f"The output is the hidden reference, or nearly, by {', '.join(found)}",
        evidence={
            **similarity.model_dump(include={"rouge_l", "bleu", "likeness"}),
            "tokens": tokens,
            **{name: thresholds[name] for name in ("min_rouge_l", "min_bleu", "min_likeness")},
            "excerpt": text[:_MAX_EXCERPT] if text else None,
        },
    )


def _exceeded_figures(similarity: ReferenceSimilarity, text: str | None, thresholds: Thresholds) -> list[str]:
    is_latin = text is None or _is_latin(text[:_MAX_READ])
    figures = {
        "ROUGE-L": (similarity.rouge_l if is_latin else None, "min_rouge_l"),
        "BLEU": (similarity.bleu, "min_bleu"),
        "likeness": (similarity.likeness, "min_likeness"),
    }
    return [name for name, (value, least) in figures.items() if (value or 0.0) >= thresholds[least]]


def _is_latin(text: str) -> bool:
    """Return whether at least half of the letters are ASCII; ROUGE-L ignores other letters."""
    letters = [each for each in text if each.isalpha()]
    return 2 * sum(each.isascii() for each in letters) >= len(letters) > 0


RULE = FraudRule(
    name="reference_copy",
    description="The output is the hidden reference, or nearly, and too long for that to be a short correct answer.",
    check=check,
    actions={Severity.CRITICAL: Action.HOLD},
    threshold_notes={
        "min_tokens": "Tokens (words, in scripts without spaces characters) below which a text is a short answer.",
        "min_rouge_l": "ROUGE-L to the reference, in [0, 1], from which on a text is a copy.",
        "min_bleu": "BLEU against the reference, in [0, 1], from which on a text is a copy.",
        "min_likeness": "Likeness to the reference word by word, in any script, in [0, 1], at which a text is a copy.",
    },
)
