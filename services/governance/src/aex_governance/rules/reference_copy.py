"""The output is the hidden reference, or nearly.

Short answers and lists of short items that equal it are correct answers, not copies.
"""

from aex_governance.rules.case import Case
from aex_governance.rules.lists import is_list
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, ReferenceSimilarity, Severity

_EXCERPT = 200
_LOOKED_AT = 20_000
"""Code points that are enough to tell what kind of text it is."""


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Raised for any of the three figures. A likeness without a text is one of unknown length, and never a pass."""
    likeness, text = case.request.reference_similarity, case.request.output_text
    if likeness is None:
        return None
    tokens = case.text.tokens if case.text else None
    if tokens is not None and tokens < thresholds["min_tokens"]:
        return None
    found = _too_near(likeness, text, thresholds)
    if not found or (text is not None and is_list(text[:_LOOKED_AT])):
        return None
    return Flag(
        rule=RULE.name,
        severity=Severity.CRITICAL,
        message=f"The output is the hidden reference, or nearly, by {', '.join(found)}",
        evidence={
            "rouge_l": likeness.rouge_l,
            "bleu": likeness.bleu,
            "likeness": likeness.likeness,
            "tokens": tokens,
            "min_rouge_l": thresholds["min_rouge_l"],
            "min_bleu": thresholds["min_bleu"],
            "min_likeness": thresholds["min_likeness"],
            "excerpt": text[:_EXCERPT] if text else None,
        },
    )


def _too_near(likeness: ReferenceSimilarity, text: str | None, thresholds: Thresholds) -> list[str]:
    found = []
    if (likeness.rouge_l or 0.0) >= thresholds["min_rouge_l"] and (text is None or _is_latin(text[:_LOOKED_AT])):
        found.append("ROUGE-L")
    if (likeness.bleu or 0.0) >= thresholds["min_bleu"]:
        found.append("BLEU")
    if (likeness.likeness or 0.0) >= thresholds["min_likeness"]:
        found.append("likeness")
    return found


def _is_latin(text: str) -> bool:
    """ROUGE-L reads a–z and 0–9 alone: of a text in another script no more than its numbers, which may well agree.

    For those there is the likeness, if whoever asks tells it.
    """
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
