"""A run: parties act, messages arrive, faults occur, and invariants are checked after every step."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from aex_runtime.clock import SetClock
from aex_runtime.store.port import Store
from aex_settlement.repository.ledger import TRANSACTIONS
from tests.simulation.actions import finance, incidents, machinery, operators, parties, requests
from tests.simulation.actions.random_works import ExpectedContract, OpenWork, Shares
from tests.simulation.engine.dice import ActDice, current_replica, use_dice
from tests.simulation.faults.fate import CALM, FaultRates
from tests.simulation.planted.plant import NOTHING, Plant
from tests.simulation.promises.invariants import check_invariants, check_quiescent
from tests.simulation.promises.seen import Observations
from tests.simulation.runs.plan import Plan, PlannedStep
from tests.simulation.services import Environment, Service
from tests.simulation.suite import Suite, build_suites

START = datetime(2026, 1, 1, tzinfo=UTC)
_MOST_ROUNDS = 400
"""Rounds until nothing moves: retries and holds of a contract follow each other."""


@dataclass
class World:
    """The state and the steps of one run. The same seed gives the same run."""

    seed: int
    rates: FaultRates = field(default_factory=FaultRates)
    shares: Shares = field(default_factory=Shares)
    trace: list[str] = field(default_factory=list)
    watched: Callable[[Store], Store] = lambda store: store
    """Wrapper of each service's store."""
    plant: Plant = NOTHING

    def __post_init__(self) -> None:
        self.dice = ActDice()
        self.clock = SetClock(START)
        self.faults = self.rates
        self.suites = build_suites(Environment(self.dice, self.clock, lambda: self.faults, self.watched, self.plant))
        self.expected_contracts: list[ExpectedContract] = []
        self.open_works: list[OpenWork] = []
        """Works with custom code, which are checked before their award."""
        self.acted: list[str] = []
        self.keys = 0
        self.seen = Observations()

    @property
    def tally(self) -> Counter[str]:
        """Return counts by name: faults, conflicts, killed processes, events, postings."""
        processes = [service.process for suite in self.suites for service in suite.services]
        return self.suite.environment.fate.tally + Counter(
            {
                "transactions that lost": sum(each.memory.lost for each in self.suite.services),
                "processes killed": sum(each.lives for each in processes) - len(processes),  # all restart at the end
                "requests killed with their process": sum(each.killed for each in processes),
                "events": len(self.suite.environment.commit_log.emitted),
                "messages": len(self.suite.environment.bus.published),
                "transactions booked": len(self.seen.created.get(TRANSACTIONS.collection.name, ())),
            }
        )

    @property
    def suite(self) -> Suite:
        """Return the replicas that answer the current action."""
        return self.suites[current_replica()]

    def replicas_of(self, name: str) -> tuple[Service, ...]:
        """Return the replicas of one service."""
        return tuple(suite.named(name) for suite in self.suites)

    async def run(self, steps: int) -> None:
        """Run random actions, then let all work come to its end, and check the final promises."""
        await self.follow(Plan.draw(self.seed, steps, WEIGHTS))

    async def follow(self, plan: Plan) -> None:
        """Run the actions of a plan, then let all work come to its end, and check the final promises."""
        for together in plan.moments():
            await self.step(together)
            with use_dice(self.seed, replica=0):
                await check_invariants(self)
        with use_dice(self.seed, replica=0):
            await self.quiesce()
            await check_quiescent(self)

    async def step(self, together: tuple[PlannedStep, ...]) -> None:
        """Execute one action, or several concurrently."""
        if len(together) == 1:
            await self._act(together[0])
        else:
            await self.suite.environment.pauses.together([partial(self._act, each) for each in together])

    async def _act(self, planned: PlannedStep) -> None:
        self.acted.append(planned.action)
        with use_dice(planned.seed) as act:
            self.trace.append(f"{planned.moment} {planned.action} at {act.replica}")
            await _BY_NAME[planned.action](self)

    async def quiesce(self) -> None:
        """End all faults, deliver everything, fire every timer and decide every hold."""
        self.faults = CALM
        for service in (service for suite in self.suites for service in suite.services):
            service.restart()
        for _ in range(_MOST_ROUNDS):
            await machinery.settle(self)
            await check_invariants(self)
            await operators.repeat_old_decisions(self)
            await operators.decide_all_holds(self)
            if await machinery.is_quiescent(self) and not await operators.waiting_holds(self):
                return
        raise AssertionError(f"seed {self.seed} does not come to rest in {_MOST_ROUNDS} rounds")


_ACTIONS: dict[Callable[[World], Awaitable[None]], float] = {
    parties.publish_and_award: 2.5,
    parties.award_a_checked_work: 2,
    parties.post_candidate: 6,
    parties.finalise_or_cancel: 1.2,
    parties.claim_a_work: 1,
    parties.cancel_a_work: 0.3,
    operators.decide_a_hold: 1,
    operators.repeat_decision: 0.3,
    operators.repeat_old_decisions: 0.5,
    machinery.deliver: 12,
    machinery.fire_timers: 3,
    machinery.set_clock_back: 0.5,
    machinery.redeliver: 1,
    machinery.sweep: 2,
    machinery.pump: 3,
    machinery.seal: 2,
    machinery.rebuild_books: 0.3,
    machinery.rebuild_memory: 0.3,
    requests.repeat_a_request: 1,
    finance.correct_a_settlement: 0.7,
    finance.post_by_hand: 0.5,
    incidents.start_outage: 0.4,
    incidents.end_outages: 0.8,
    incidents.skew_a_clock: 0.4,
    incidents.replay_dead_letters: 0.4,
    incidents.send_poison: 0.6,
    incidents.cancel_unknown_contract: 0.2,
}
"""Weights of the actions."""
_BY_NAME = {action.__name__: action for action in _ACTIONS}
WEIGHTS = {action.__name__: weight for action, weight in _ACTIONS.items()}
