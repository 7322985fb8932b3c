"""Exact match and F1 as the evaluation script of SQuAD 2.0 defines them, written for comparison."""

import re
import string
from collections import Counter
from collections.abc import Sequence


def squad_exact(text: str, references: Sequence[str]) -> bool:
    """Return True if text and any reference are equal after normalisation."""
    return any(_normalize(each) == _normalize(text) for each in references)


def squad_f1(text: str, references: Sequence[str]) -> float:
    """Return the greatest F1 of the words of text and reference."""
    return max(_f1(_normalize(each).split(), _normalize(text).split()) for each in references)


def _normalize(text: str) -> str:
    kept = "".join(character for character in text.lower() if character not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def _f1(gold: list[str], predicted: list[str]) -> float:
    same = (Counter(gold) & Counter(predicted)).total()
    if not gold or not predicted:
        return int(gold == predicted)
    if same == 0:
        return 0
    precision, recall = same / len(predicted), same / len(gold)
    return 2 * precision * recall / (precision + recall)
