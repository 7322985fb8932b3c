"""Orders to drop what the reviewer was told: disregard + earlier + instructions."""

from aex_governance.rules.injection.grammar import (
    ADDRESSEE,
    DISREGARD,
    is_about_itself,
    is_conditional,
    is_directed,
    is_negated,
)
from aex_governance.rules.injection.lexicon import BIT, LANGUAGE_BIT
from aex_governance.rules.injection.reading import Reading
from aex_governance.rules.injection.subjects import is_told_of_graders

_NAMED = frozenset(["that", "which", "in", "from", "contained", "embedded", "found", "inside", "within", "on", "about"])
_PRONOUNS = frozenset(["lo", "cio", "ce", "que", "quello", "o", "das", "dem", "wat", "co", "what", "that", "della"])
_RESULT = BIT["highest"] | BIT["passing"]


def overrides(reading: Reading, place: int) -> bool:
    """Ignore all previous instructions; forget everything above; disregard the rubric."""
    mask = reading.masks[place]
    if not mask & DISREGARD:
        return False
    final = bool(mask & BIT["disregard_final"])
    if is_negated(reading, place) or not (_is_order(reading, place) if final else is_directed(reading, place)):
        return False
    near = reading.places(place, 9 if final else 0, 10)
    if is_told_of_graders(reading, place) and not is_about_itself(reading, near):
        return False
    found = reading.classes(near)
    if not found & (BIT["instructions"] | BIT["matter"]):
        met = _means_everything(reading, place, found, final=final)
    elif mask & BIT["undo"]:
        wanted = BIT["everything"] | ADDRESSEE | _RESULT
        own = _is_yours(reading, near)
        met = bool(
            found & (BIT["instructions"] | BIT["matter"])
            and found & (BIT["reference"] | BIT["rubric"])
            and (own or reading.around(place, 3, 20) & wanted & (-1 if found & BIT["instructions"] else ADDRESSEE))
        )
    elif found & BIT["instructions"]:
        met = bool(
            found & (BIT["reference"] | BIT["grader"] | BIT["rubric"])
            or (found & BIT["everything"] and not _is_named(reading, near))
        )
    else:
        own = _is_yours(reading, near)
        demanded = reading.around(place, 0, 20) & (BIT["highest"] | BIT["accepting"])
        met = bool(found & BIT["reference"] and (own or demanded or found & BIT["everything"] or found & ADDRESSEE))
    return met and not _is_senders(reading, near) and not is_conditional(reading, place)


def _is_order(reading: Reading, place: int) -> bool:
    """In Arabic the same letters tell the past, with its subject after them; an order's object follows at once."""
    if not "\u0600" <= reading.word(place)[:1] <= "\u06ff" or reading.masks[place] & BIT["not"]:
        return True
    wanted = BIT["everything"] | BIT["instructions"] | BIT["reference"] | BIT["this"] | BIT["disregard_final"]
    return bool(reading.classes(range(place + 1, min(place + 2, len(reading.masks)))) & wanted)


def _is_yours(reading: Reading, near: range) -> bool:
    return any(
        reading.word(place) == "your"
        and reading.classes(reading.places(place, 0, 3)) & (BIT["instructions"] | BIT["matter"])
        for place in near
    )


def _is_named(reading: Reading, near: range) -> bool:
    """Instructions of some place ("any instructions in the document"), not the reader's."""
    return any(reading.masks[place] & BIT["instructions"] and reading.word(place + 1) in _NAMED for place in near)


def _is_senders(reading: Reading, near: range) -> bool:
    """Instructions that a sender gave before and takes back ("the instructions we sent you")."""
    return any(
        reading.masks[place] & (BIT["instructions"] | BIT["matter"])
        and reading.masks[place] & LANGUAGE_BIT["en"]
        and any(reading.word(place + step) in {"we", "i", "our"} for step in (1, 2, 3))
        for place in near
    )


def _means_everything(reading: Reading, place: int, found: int, *, final: bool) -> bool:
    """Everything earlier, not everything of some kind ("forget all previous errors")."""
    before = 6 if final else 0
    if not found & BIT["reference"]:
        return False
    if not reading.classes(reading.places(place, min(before, 4), 3)) & BIT["everything"]:
        return False
    if not any(
        reading.masks[other] & BIT["everything"]
        and (
            other + 1 >= len(reading.masks)
            or reading.masks[other + 1]
            or reading.fresh[other + 1]
            or reading.word(other + 1) in _PRONOUNS
        )
        for other in reading.places(place, min(before, 4), 3)
    ):
        return False  # "all comments above"
    for other in reading.places(place, before, 6):
        if reading.masks[other] & BIT["reference"] and other != place:
            after = other + 1
            if after >= len(reading.masks) or reading.fresh[after] or reading.masks[after]:
                return True
    return False


def forbids(reading: Reading, place: int) -> bool:
    """Do not follow the previous instructions."""
    if not reading.masks[place] & BIT["not"] or reading.masks[place] & DISREGARD:
        return False
    first = place - 1 if reading.word(place - 1) == "do" else place
    if not is_directed(reading, first):
        return False
    wide = reading.classes(reading.places(place, 0, 10))
    close = reading.classes(reading.places(place, 0, 3))
    return bool(
        close & BIT["follow"]
        and not close & DISREGARD  # "do not forget to follow"
        and wide & BIT["instructions"]
        and wide & (BIT["reference"] | BIT["rubric"])
        and not is_conditional(reading, place)
    )


def voids(reading: Reading, place: int) -> bool:
    """Your previous instructions are void."""
    if not reading.masks[place] & BIT["void"]:
        return False
    before = reading.classes(reading.places(place, 8, 0))
    around = reading.around(place, 8, 12, same_sentence=False)
    return bool(
        before & BIT["instructions"]
        and before & BIT["reference"]
        and around & (BIT["you"] | ADDRESSEE | _RESULT)
        and not is_conditional(reading, place)
    )
