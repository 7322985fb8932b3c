"""The agent of work 1: it picks sentences out of a text, and revises by what the feedback says."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from aex_models.criteria import SuccessCriteria

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_UNMET = re.compile(r"^- ([A-Za-z0-9_.]+): ", re.MULTILINE)
FIRST_DRAFT = (0,)
"""The lead sentence: the oldest baseline of summarisation, and too poor here."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a revision has to reach: terms that it must hold, and a length in characters."""

    terms: Sequence[str] = ()
    least: int = 0
    most: float = float("inf")


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order."""
    return _SENTENCE_END.split(text.strip())


def joined(text: str, places: Collection[int]) -> str:
    """The sentences at these places, as one text."""
    parts = sentences(text)
    return " ".join(parts[place] for place in sorted(places))


def unmet_metrics(feedback: str) -> frozenset[str]:
    """The metrics that a feedback lists as not met."""
    return frozenset(_UNMET.findall(feedback))


def wishes_of(criteria: SuccessCriteria, unmet: Collection[str]) -> Wishes:
    """What the criteria, which are open to the agent, demand where the feedback says that it is missing."""
    thresholds = {each.metric: each.threshold for each in criteria.criteria if each.metric in unmet}
    length = thresholds.get("output_length", {})
    return Wishes(thresholds.get("contains_keywords", ()), length.get("min", 0), length.get("max", float("inf")))


def revised(text: str, places: Collection[int], wishes: Wishes) -> tuple[int, ...]:
    """The places of the sentences of a better summary: those chosen before, and what is missing.

    Each step adds the sentence with most of the missing terms, the earliest of equals (what comes first tells most),
    until all terms are there and the text is long enough, or no sentence fits any more.
    """
    parts = sentences(text)
    chosen = set(places)
    while True:
        summary = joined(text, chosen)
        missing = [term for term in wishes.terms if not _holds(summary, term)]
        room = wishes.most - len(summary) - 1
        left = [place for place, part in enumerate(parts) if place not in chosen and len(part) <= room]
        if not left or (not missing and len(summary) >= wishes.least):
            return tuple(sorted(chosen))
        chosen.add(max(left, key=lambda place: (sum(_holds(parts[place], term) for term in missing), -place)))


def _holds(text: str, term: str) -> bool:
    return term.casefold() in text.casefold()
