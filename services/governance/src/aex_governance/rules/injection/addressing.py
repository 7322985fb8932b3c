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
from aex_governance.rules.injection.grammar import ADDRESSEE, AWARD, DISREGARD
from aex_governance.rules.injection.lexicon import BIT
from aex_governance.rules.injection.overrides import forbids, overrides, voids
from aex_governance.rules.injection.reading import Reading

_REACH = 12
_FRAMES: Final[tuple[tuple[str, int, Callable[[Reading, int], bool], int], ...]] = (
    ("override", DISREGARD, overrides, BIT["instructions"] | BIT["matter"] | BIT["everything"]),
    ("override", BIT["not"], forbids, BIT["instructions"]),
    ("override", BIT["void"], voids, BIT["void"]),
    ("demand", AWARD, demands, BIT["highest"] | BIT["score"] | BIT["passing"]),
    ("demand", BIT["utter"] | BIT["must"], dictates, BIT["accepting"]),
    ("address", ADDRESSEE, calls, -1),
    ("leak", BIT["reveal"], leaks, BIT["instructions"]),
    ("no_check", BIT["not"], spares, BIT["product"]),
    ("break_out", BIT["end"], breaks_out, -1),
)


@dataclass(frozen=True, slots=True)
class Address:
    """A frame that was met, by the words that it spans."""

    frame: str
    first: int
    last: int


def addresses(reading: Reading) -> Iterator[Address]:
    """Every frame in a reading. Each word is looked at with a bounded number of words around it."""
    for place, mask in enumerate(reading.masks):
        if not mask:
            continue
        for frame, trigger, is_met, wanted in _FRAMES:
            if mask & trigger and is_met(reading, place):
                members = [other for other in reading.places(place, 0, _REACH) if reading.masks[other] & wanted]
                yield Address(frame, place, max((place, *members)))
                break
