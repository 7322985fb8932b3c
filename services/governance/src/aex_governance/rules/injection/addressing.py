"""Words to the reviewer: classes of words near each other in one sentence, in any language of the lexicon.

Frames: override (disregard + earlier + instructions), demand (award + this answer + the best score or a pass), address
(a grader or a machine spoken to, and told either), leak (reveal + your + prompt), no_check (do not + verify + this
answer), break_out (end of the answer + new instructions). Each counts where it is directed at the reader: not where
somebody else does it ("users ignore the instructions"), not negated, not on a condition ("ignore the instructions above
if you use Windows", "full marks if osmosis is named") unless the condition is to be a machine or a grader.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from aex_governance.rules.injection.calls import breaks_out, calls, leaks
from aex_governance.rules.injection.demands import demands, dictates, spares
from aex_governance.rules.injection.effort import Effort
from aex_governance.rules.injection.grammar import ADDRESSEE, AWARD, DISREGARD
from aex_governance.rules.injection.lexicon import BIT
from aex_governance.rules.injection.neighbourhood import Neighbourhood
from aex_governance.rules.injection.overrides import forbids, overrides, voids
from aex_governance.rules.injection.reading import Reading
from aex_governance.rules.injection.salutations import NAMED, hails
from aex_governance.rules.injection.sentences import weighed
from aex_governance.rules.injection.vocatives import is_pressed

_REACH = 12
_VERDICT: Final = BIT["highest"] | BIT["passing"] | BIT["score"] | BIT["accepting"] | BIT["regardless"] | BIT["this"]
_TOLD: Final = BIT["instructions"] | BIT["matter"] | BIT["everything"]
_ANYTHING: Final = -1


@dataclass(frozen=True, slots=True)
class Frame:
    """Words that may be an address, and what makes them one."""

    name: str
    trigger: int
    """The classes of the word that it is looked for at."""
    needed: int
    """Classes of which one stands within sixteen words: where none does a close look is not worth while."""
    is_met: Callable[[Reading, int], bool]
    shown: int
    """The classes of the words that an operator is shown with it."""


FRAMES: Final = (
    Frame("override", DISREGARD, _TOLD, overrides, _TOLD),
    Frame("override", BIT["not"], BIT["follow"], forbids, BIT["instructions"]),
    Frame("override", BIT["void"], BIT["instructions"], voids, BIT["void"]),
    Frame("demand", AWARD, _VERDICT, demands, BIT["highest"] | BIT["score"] | BIT["passing"]),
    Frame("demand", BIT["utter"] | BIT["must"], BIT["accepting"] | BIT["highest"], dictates, BIT["accepting"]),
    Frame("address", ADDRESSEE, _ANYTHING, calls, _ANYTHING),
    Frame("address", NAMED, _ANYTHING, hails, _ANYTHING),
    Frame("address", BIT["grader"], _ANYTHING, is_pressed, _ANYTHING),
    Frame("leak", BIT["reveal"], BIT["instructions"], leaks, BIT["instructions"]),
    Frame("no_check", BIT["not"], BIT["check"], spares, BIT["product"]),
    Frame("break_out", BIT["end"], BIT["product"], breaks_out, _ANYTHING),
)


@dataclass(frozen=True, slots=True)
class Address:
    """A frame that was met, by the words that it spans."""

    frame: str
    first: int
    last: int


def addresses(reading: Reading, effort: Effort) -> Iterator[Address]:
    """Every frame in a reading. Each word is looked at with a bounded number of words around it."""
    near = Neighbourhood(reading.masks).around()
    triggers = 0
    for frame in FRAMES:
        triggers |= frame.trigger
    for place, mask in enumerate(reading.masks):
        if not mask & triggers:
            continue
        met = _met(reading, place, near[place], effort)
        if met is not None:
            members = [other for other in reading.places(place, 0, _REACH) if reading.masks[other] & met.shown]
            yield Address(met.name, place, max((place, *members)))
    for name, first, last in weighed(reading, effort):
        yield Address(name, first, last)


def _met(reading: Reading, place: int, near: int, effort: Effort) -> Frame | None:
    mask = reading.masks[place]
    looked = False
    for frame in FRAMES:
        if not mask & frame.trigger or not near & frame.needed:
            continue
        if not looked and not effort.spends("places"):
            return None
        looked = True
        if frame.is_met(reading, place):
            return frame
    return None
