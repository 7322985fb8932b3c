"""Probability of each fault, and the decision whether it occurs."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields


class Crash(Exception):
    """The signal that the process ends here: committed data stay, and its memory is lost."""


@dataclass(frozen=True, slots=True)
class FaultRates:
    """Probability of each fault, per opportunity."""

    rerun: float = 0.05
    crash_before_commit: float = 0.02
    crash_after_commit: float = 0.03
    duplicate: float = 0.10
    drop: float = 0.10
    governance_down: float = 0.10
    verifier_breaks: float = 0.10
    sandbox_away: float = 0.20
    code_fails: float = 0.25
    store_unread: float = 0.004
    """At each read outside a transaction."""
    store_refuses: float = 0.02
    """A commit, before anything was applied."""
    answer_lost: float = 0.02
    """The commit was applied, but its caller gets an error."""
    bus_refuses: float = 0.10
    """Before, amid or after a batch."""
    blobs_away: float = 0.05
    governance_refuses: float = 0.05
    governance_forgotten: float = 0.05
    """Governance decided, and its answer is lost."""
    awards_away: float = 0.10
    examiner_away: float = 0.10
    reviewer_fails: float = 0.20
    worn_out: float = 0.01
    """A delivery after so many without a result that it becomes a dead letter."""


CALM = FaultRates(**{each.name: 0.0 for each in fields(FaultRates)})


class Fate:
    """Random occurrence of faults, while faults are allowed."""

    def __init__(self, dice: random.Random, rates: Callable[[], FaultRates]) -> None:
        self._dice = dice
        self._rates = rates
        self.away: set[str] = set()
        """Parts that are down for longer: `bus`, `blobs`, `governance`, `store of ...`."""
        self.tally: Counter[str] = Counter()
        """Occurrences by kind."""

    def happens(self, kind: str) -> bool:
        """Return whether a fault, named as in `FaultRates`, occurs now; count it if so."""
        rates: float = getattr(self._rates(), kind)
        comes = rates > 0 and self._dice.random() < rates
        self.tally[kind] += comes
        return comes

    def is_away(self, part: str) -> bool:
        """Return whether an outage of the part is in progress."""
        away = part in self.away and self._rates() is not CALM
        self.tally["asked while away"] += away
        return away

    def share(self, of: int) -> int:
        """Return a random number from 0 to `of`."""
        return self._dice.randint(0, of)
