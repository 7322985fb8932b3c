"""One run: parties act, messages fly, faults happen, and the invariants are looked at after every step."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from aex_runtime.clock import SetClock
from aex_runtime.store.port import Store
from aex_settlement.repository.ledger import TRANSACTIONS
from tests.simulation.actions import asking, finance, machinery, operators, parties, troubles
from tests.simulation.actions.wishes import Deal, Offer, Shares
from tests.simulation.engine.dice import ActDice, acting, replica_now
from tests.simulation.faults.fate import CALM, Odds
from tests.simulation.planted.plant import NOTHING, Plant
from tests.simulation.promises.invariants import check_invariants, check_quiescent
from tests.simulation.promises.seen import Seen
from tests.simulation.runs.plan import Plan, PlannedStep
from tests.simulation.services import Service, around
from tests.simulation.suite import Suite, suites

START = datetime(2026, 1, 1, tzinfo=UTC)
_MOST_ROUNDS = 400
"""Of time passing until nothing moves: retries and holds of a contract come after each other."""


@dataclass
class World:
    """Everything in one run. The same seed gives the same run."""

    seed: int
    odds: Odds = field(default_factory=Odds)
    shares: Shares = field(default_factory=Shares)
    trace: list[str] = field(default_factory=list)
    watched: Callable[[Store], Store] = lambda store: store
    """Puts something between each service and its store."""
    plant: Plant = NOTHING

    def __post_init__(self) -> None:
        self.dice = ActDice()
        self.clock = SetClock(START)
        self.faults = self.odds
        self.suites = suites(around(self.dice, self.clock, lambda: self.faults, self.watched, self.plant))
        self.deals: list[Deal] = []
        self.offers: list[Offer] = []
        """Those with custom code: they have to be checked before they can be awarded."""
        self.acted: list[str] = []
        self.keys = 0
        self.seen = Seen()

    @property
    def tally(self) -> Counter[str]:
        """What happened to the run, by name: faults, lost transactions, killed processes, events, postings."""
        processes = [service.process for suite in self.suites for service in suite.services]
        return self.suite.around.fate.tally + Counter(
            {
                "transactions that lost": sum(each.memory.lost for each in self.suite.services),
                "processes killed": sum(each.lives for each in processes) - len(processes),  # all begin anew at the end
                "requests killed with their process": sum(each.killed for each in processes),
                "events": len(self.suite.around.chronicle.emitted),
                "messages": len(self.suite.around.bus.published),
                "transactions booked": len(self.seen.created.get(TRANSACTIONS.collection.name, ())),
            }
        )

    @property
    def suite(self) -> Suite:
        """The replicas that answer whoever acts now."""
        return self.suites[replica_now()]

    def replicas_of(self, name: str) -> tuple[Service, ...]:
        """All of one service."""
        return tuple(suite.named(name) for suite in self.suites)

    async def run(self, steps: int) -> None:
        """Act at random, then let everything come to rest."""
        await self.follow(Plan.drawn(self.seed, steps, WEIGHTS))

    async def follow(self, plan: Plan) -> None:
        """Act as planned, then let everything come to rest."""
        for together in plan.moments():
            await self.step(together)
            with acting(self.seed, replica=0):
                await check_invariants(self)
        with acting(self.seed, replica=0):
            await self.quiesce()
            await check_quiescent(self)

    async def step(self, together: tuple[PlannedStep, ...]) -> None:
        """One action, or several at once."""
        if len(together) == 1:
            await self._act(together[0])
        else:
            await self.suite.around.pauses.together([partial(self._act, each) for each in together])

    async def _act(self, planned: PlannedStep) -> None:
        self.acted.append(planned.action)
        with acting(planned.seed) as act:
            self.trace.append(f"{planned.moment} {planned.action} at {act.replica}")
            await _BY_NAME[planned.action](self)

    async def quiesce(self) -> None:
        """No more faults: deliver everything, let every timer fire, decide every hold."""
        self.faults = CALM
        for service in (service for suite in self.suites for service in suite.services):
            service.restart()
        for _ in range(_MOST_ROUNDS):
            await machinery.settle(self)
            await check_invariants(self)
            await operators.repeat_old_decisions(self)
            await operators.decide_all_holds(self)
            if await machinery.nothing_moves(self) and not await operators.waiting_holds(self):
                return
        raise AssertionError(f"seed {self.seed} does not come to rest in {_MOST_ROUNDS} rounds")


_ACTIONS: dict[Callable[[World], Awaitable[None]], float] = {
    parties.publish_and_award: 2.5,
    parties.award_a_checked_work: 2,
    parties.post_candidate: 6,
    parties.close_somehow: 1.2,
    parties.claim_a_work: 1,
    parties.call_off_a_work: 0.3,
    operators.decide_a_hold: 1,
    operators.decide_again: 0.3,
    operators.repeat_old_decisions: 0.5,
    machinery.deliver: 12,
    machinery.fire_timers: 3,
    machinery.set_clock_back: 0.5,
    machinery.deliver_again: 1,
    machinery.sweep: 2,
    machinery.pump: 3,
    machinery.seal: 2,
    machinery.rebuild_books: 0.3,
    machinery.rebuild_memory: 0.3,
    asking.repeat_a_request: 1,
    finance.correct_a_settlement: 0.7,
    finance.post_by_hand: 0.5,
    troubles.lose_a_part: 0.4,
    troubles.bring_parts_back: 0.8,
    troubles.skew_a_clock: 0.4,
    troubles.replay_dead_letters: 0.4,
    troubles.throw_poison: 0.6,
    troubles.throw_a_strangers_end: 0.2,
}
"""How often each happens."""
_BY_NAME = {action.__name__: action for action in _ACTIONS}
WEIGHTS = {action.__name__: weight for action, weight in _ACTIONS.items()}
