"""A reviewer called by name at the head of a line or a comment, and what weighs in the two sentences under it.

No frame of an order is needed under a salutation: one word that is a demand by itself (accept, full marks), or two that
together are ("rubric" and "fulfilled"; "this answer" and "points"). Words that any letter to a reviewer holds (rules,
criteria, score) are too weak alone; letters of thanks and replies to a review are nobody's demand.
"""

import re
from typing import Final

from aex_governance.rules.injection.folding import folded_words
from aex_governance.rules.injection.grammar import (
    AWARD,
    DISREGARD,
    is_about_itself,
    is_conditional,
    is_directed,
    is_negated,
)
from aex_governance.rules.injection.lexicon import BIT
from aex_governance.rules.injection.reading import Reading

_BODY = 24
_ENOUGH = 3
_MARKS = frozenset(":!,;—–،、：，")
_CALL = re.compile(r"(?:@|<!--|/\*|//|#|\[|\(|--|\"{3})\s{0,4}$")
_GREETINGS = frozenset(
    folded_words(
        "dear hey hello hi note notice attention message memo ps lieber liebe liebes hallo notiz hinweis nachricht "
        "achtung cher chere bonjour note monsieur madame oye estimado estimada hola nota mensaje эй уважаемый "
        "уважаемая привет дорогой внимание عزيزي ايها ملاحظه ملاحظة प्रिय नमस्ते ध्यान 尊敬的 亲爱的 致"
    ).split()
)
_NOUNS: Final = BIT["instructions"] | BIT["rubric"]
_PASS: Final = BIT["accepting"] | BIT["passing"] | BIT["fulfilled"] | BIT["welcome"]
_WEIGHTY: Final = AWARD | DISREGARD | BIT["overlook"] | BIT["skip"] | _PASS


def is_pressed(reading: Reading, place: int) -> bool:
    """A grader is called at this place, and what follows weighs as a demand for a verdict."""
    if not reading.masks[place] & BIT["grader"] or reading.is_in_code(place):
        return False
    strength = _called(reading, place)
    if not strength:
        return False
    last = reading.sentences[place] + 2
    body = [
        other for other in range(place + 1, min(len(reading.masks), place + _BODY)) if reading.sentences[other] <= last
    ]
    if any(reading.traits[other] & BIT["thanks"] or reading.masks[other] & BIT["others"] for other in body):
        return False
    return any(_weighs(reading, other, _ENOUGH - strength) for other in body if reading.traits[other] & _WEIGHTY)


def _weighs(reading: Reading, place: int, least: int) -> bool:
    """More than `least`; found out once for each word, whoever is called before it."""
    question = (f"weighs {least}", place)
    known = reading.memory.get(question)
    if known is None:
        known = reading.memory[question] = _weight(reading, place) > least
    return known


def _called(reading: Reading, place: int) -> int:
    """2 for a greeting, a comment or a sign of calling, 1 for the bare name; 0 where nobody is called."""
    end = place + 1
    while end < len(reading.masks) and end - place < 3 and reading.word(end) in {"bot", "model", "ai", "agent"}:
        end += 1
    if end >= len(reading.masks) or not reading.fresh[end]:
        return 0
    if _MARKS.isdisjoint(reading.text[reading.ends[end - 1] : reading.starts[end]]):
        return 0
    first = place
    while first > 0 and place - first < 5 and not reading.fresh[first]:
        first -= 1
    before = reading.text[max(0, reading.starts[first] - 6) : reading.starts[first]]
    if any(reading.word(other) in _GREETINGS for other in range(first, place)):
        return 2
    if first != place:
        return 0
    if _CALL.search(before) or reading.word(place - 1) in _GREETINGS:
        return 2
    is_head = place == 0 or before.endswith("\n") or reading.sentences[place - 1] != reading.sentences[place]
    return int(is_head)


def _weight(reading: Reading, place: int) -> int:
    mask = reading.traits[place]
    if not mask & _WEIGHTY or is_negated(reading, place):
        return 0
    if is_conditional(reading, place):
        return 0
    near = reading.places(place, 7, 7)
    found = 0
    for other in near:
        if other != place:
            found |= reading.traits[other]
    weight = 0
    orders = mask & (BIT["award_final"] | BIT["disregard_final"]) or is_directed(reading, place)
    if orders and mask & (AWARD | DISREGARD | BIT["overlook"] | BIT["skip"] | BIT["accepting"]):
        weight += 1
    if mask & _PASS:
        weight += 1
    if found & _PASS:
        weight += 1
    if found & (_NOUNS | BIT["gap"]) or (found & BIT["highest"] and found & BIT["score"]):
        weight += 1
    if found & BIT["you"] or found & BIT["must"] or is_about_itself(reading, near):
        weight += 1
    return weight
