"""One run: parties act, messages fly, faults happen, and the invariants are looked at after every step."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aex_runtime.clock import SetClock
from aex_runtime.store.port import Store
from tests.simulation import machinery, parties
from tests.simulation.faults import CALM, Odds
from tests.simulation.invariants import Ledger, check_invariants, check_quiescent
from tests.simulation.services import Suite, around
from tests.simulation.wishes import Deal, Offer, Shares

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class World:
    """Everything in one run. The same seed gives the same run."""

    seed: int
    odds: Odds = field(default_factory=Odds)
    shares: Shares = field(default_factory=Shares)
    trace: list[str] = field(default_factory=list)
    watched: Callable[[Store], Store] = lambda store: store
    """Puts something between each service and its store."""

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.clock = SetClock(START)
        self.faults = self.odds
        self.suite = Suite(around(self.dice, self.clock, lambda: self.faults, self.watched))
        self.deals: list[Deal] = []
        self.offers: list[Offer] = []
        """Those with custom code: they have to be checked before they can be awarded."""
        self.keys = 0
        self.ledger = Ledger()

    async def run(self, steps: int) -> None:
        """Act at random, then let everything come to rest."""
        for _ in range(steps):
            await self.step()
            await check_invariants(self)
        await self.quiesce()
        await check_quiescent(self)

    async def step(self) -> None:
        """One action, chosen by the dice."""
        action = self.dice.choices(list(_ACTIONS), list(_ACTIONS.values()))[0]
        self.trace.append(action.__name__)
        await action(self)

    async def quiesce(self) -> None:
        """No more faults: deliver everything, let every timer fire, release every hold."""
        self.faults = CALM
        for service in self.suite.services:
            service.restart()
        for _ in range(400):
            await machinery.settle(self)
            await parties.release_all_holds(self)
            if await machinery.nothing_moves(self) and not await parties.waiting_holds(self):
                return
        raise AssertionError(f"seed {self.seed} does not come to rest")


_ACTIONS: dict[Callable[[World], Awaitable[None]], float] = {
    parties.publish_and_award: 3,
    parties.award_a_checked_work: 2,
    parties.post_candidate: 5,
    parties.close_somehow: 2,
    parties.decide_a_hold: 1,
    machinery.deliver: 12,
    machinery.fire_timers: 3,
    machinery.set_clock_back: 1,
    machinery.deliver_again: 1,
    machinery.sweep: 2,
    machinery.pump: 3,
    machinery.seal: 2,
    machinery.rebuild_books: 0.3,
}
"""How often each happens."""
