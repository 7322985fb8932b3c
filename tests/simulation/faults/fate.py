"""How likely each fault is, and whether it comes to pass this time."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields


class Crash(Exception):
    """The process ends here: what is committed stays, what is in memory is gone."""


@dataclass(frozen=True, slots=True)
class Odds:
    """How likely each fault is, at each occasion."""

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
    """The commit was applied, and its caller does not learn it."""
    bus_refuses: float = 0.10
    """Before, amid or after a batch."""
    blobs_away: float = 0.05
    governance_refuses: float = 0.05
    governance_forgotten: float = 0.05
    """It has decided, and its answer is lost."""
    awards_away: float = 0.10
    examiner_away: float = 0.10
    reviewer_fails: float = 0.20
    worn_out: float = 0.01
    """A delivery after so many that had no end that its service gives it up."""


CALM = Odds(**{each.name: 0.0 for each in fields(Odds)})


@dataclass(slots=True)
class Outages:
    """Which parts are away, for longer than a moment: `bus`, `blobs`, `governance`, `store of ...`."""

    away: set[str] = field(default_factory=set)


class Fate:
    """What the dice say happens, while anything may happen."""

    def __init__(self, dice: random.Random, odds: Callable[[], Odds], outages: Outages) -> None:
        self._dice = dice
        self._odds = odds
        self._outages = outages
        self.tally: Counter[str] = Counter()
        """How often each thing happened."""

    @property
    def odds(self) -> Odds:
        """As they are now."""
        return self._odds()

    def happens(self, kind: str) -> bool:
        """Whether a kind of fault, by its name in `Odds`, comes to pass this time; it is counted where it does."""
        odds: float = getattr(self._odds(), kind)
        comes = odds > 0 and self._dice.random() < odds
        self.tally[kind] += comes
        return comes

    def is_away(self, part: str) -> bool:
        """Whether the part is away for longer."""
        away = bool(self._outages.away) and part in self._outages.away and self._odds() is not CALM
        self.tally["asked while away"] += away
        return away

    def share(self, of: int) -> int:
        """Some of so many: none, all, or anything between."""
        return self._dice.randint(0, of)
