"""How much is looked at closely in what one candidate says: hostile texts are made of places worth a look.

Reading a text is linear in its length and never cut short. Looks at places, and at whether a place is a mention, have a
limit far above what honest texts of the longest length need. What lies beyond is counted, and told to the operator.
"""

from collections import Counter
from dataclasses import dataclass, field

MOST_LOOKS = 6_000
MOST_MENTIONS = 1_500
MOST_OBJECTS = 3_000
MOST_UNSEEN = 1_000
_MOST = {"places": MOST_LOOKS, "mentions": MOST_MENTIONS, "objects": MOST_OBJECTS, "unseen": MOST_UNSEEN}


@dataclass(slots=True)
class Effort:
    """What is left to spend on one candidate's texts, and what was wanted beyond it."""

    left: Counter[str] = field(default_factory=lambda: Counter(_MOST))
    beyond: Counter[str] = field(default_factory=Counter)
    """By what it would have been spent on: how often there was nothing left."""

    def spends(self, what: str) -> bool:
        """Whether there is something left for one more."""
        if self.left[what] > 0:
            self.left[what] -= 1
            return True
        self.beyond[what] += 1
        return False
