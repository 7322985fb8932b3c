"""One run: parties act, messages fly, faults happen, and the invariants are looked at after every step."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aex_governance.handlers.holds import decide_hold
from aex_governance.repository import HOLDS
from aex_models.audiences import Audience
from aex_models.contract import AwardRequest, Candidate
from aex_models.governance import Decision, HoldDecision, Party
from aex_runtime.bus.port import Delivery, Retry
from aex_runtime.clock import SetClock
from aex_runtime.errors import DomainError
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.identity.principal import Principal
from aex_runtime.outbox_entry import outbox_table
from aex_runtime.store.port import Store
from aex_verification.handlers.close import cancel_contract, finalise_contract
from aex_verification.handlers.submit_output import submit_output
from aex_work_publisher.handlers.award_work import award_work
from aex_work_publisher.handlers.check_work import Body
from aex_work_publisher.handlers.submit_work import submit_work
from tests.simulation.faults import CALM, Crash, Flight, Odds
from tests.simulation.invariants import Ledger, check_invariants, check_quiescent
from tests.simulation.services import DEADLY, ENDLESS, SOUND, Service, Suite, around

START = datetime(2026, 1, 1, tzinfo=UTC)
CONSUMERS = ("acme", "bolt", "carl")
CODE = "def evaluate(input, output, metadata):\n    return 1  # {}\n"
AGENTS = ("bot", "carl", "dex")  # carl deals with himself now and then


@dataclass(frozen=True, slots=True)
class Deal:
    """A contract that was made, and what its consumer was told that it can cost."""

    contract_id: str
    work_id: str
    consumer: str
    agent: str
    least: str
    most: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A work that was published, and not awarded yet."""

    work_id: str
    consumer: Principal
    cpc_rate: str
    least: str
    most: str
    code: str | None
    """Its custom code."""


@dataclass
class World:
    """Everything in one run. The same seed gives the same run."""

    seed: int
    odds: Odds = field(default_factory=Odds)
    custom_share: float = 0.3
    """How likely a work has custom code."""
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
        actions = (
            (self.publish_and_award, 3),
            (self.award_a_checked_work, 2),
            (self.post_candidate, 5),
            (self.close_somehow, 2),
            (self.decide_a_hold, 1),
            (self.deliver, 12),
            (self.fire_timers, 3),
            (self.set_clock_back, 1),
            (self.deliver_again, 1),
            (self.sweep, 2),
            (self.pump, 3),
        )
        action = self.dice.choices([each for each, _ in actions], [weight for _, weight in actions])[0]
        self.trace.append(action.__name__)
        await action()

    async def quiesce(self) -> None:
        """No more faults: deliver everything, let every timer fire, decide every hold."""
        self.faults = CALM
        for service in self.suite.services:
            service.restart()
        for _ in range(400):
            self.clock.advance(timedelta(hours=6))
            for service in self.suite.services:
                await self._guarded(service, service.outbox.flush())
                await self._guarded(service, service.outbox.sweep())
                await self._guarded(service, service.sweeper.fire_due(self.clock.now()))
            while self.suite.around.bus.flights:
                await self._deliver(self.suite.around.bus.flights[0])
            await self.decide_a_hold(Decision.RELEASE)
            if await self._at_rest():
                return
        raise AssertionError(f"seed {self.seed} does not come to rest")

    async def _at_rest(self) -> bool:
        if self.suite.around.bus.flights or await self._waiting_holds():
            return False
        waiting = [await service.sweeper.next_due() for service in self.suite.services]
        unpublished = [
            await outbox_table(each.name).find(each.store, order="created_at") for each in self.suite.services
        ]
        return not any(waiting) and not any(unpublished)

    # what parties do

    async def publish_and_award(self) -> None:
        """A consumer publishes a work and awards it."""
        consumer = Principal(self.dice.choice(CONSUMERS), Audience.CONSUMER)
        deps, service = self.suite.publisher_deps, self.suite.publisher
        wanted = self._work()
        body = Body(wanted, size=1_000)
        published = await self._until_done(service, lambda key: submit_work(deps, consumer, body, key))
        if published is None:
            return
        effect, answer = published
        metrics = wanted["evaluation"]["custom_metrics"] if "evaluation" in wanted else []
        least, most = str(answer.quote.minimum.total), str(answer.quote.maximum.total)
        code = metrics[0]["code"] if metrics else None
        offer = Offer(effect.resource_id, consumer, wanted["budget"]["max_cpc"], least, most, code)
        if code is not None:
            self.offers.append(offer)
        await self._award(offer)

    async def award_a_checked_work(self) -> None:
        """A consumer tries to award a work with custom code, whether or not that was tried already."""
        dealt = {deal.work_id for deal in self.deals}
        waiting = [offer for offer in self.offers if offer.work_id not in dealt]
        if waiting:
            await self._award(self.dice.choice(waiting))

    async def _award(self, offer: Offer) -> None:
        agent = self.dice.choice(AGENTS)
        request = AwardRequest(agent_id=agent, cpc_rate=offer.cpc_rate)
        deps = self.suite.publisher_deps
        awarded = await self._until_done(
            self.suite.publisher, lambda key: award_work(deps, offer.consumer, offer.work_id, request, key)
        )
        if awarded is not None:
            deal = Deal(awarded.resource_id, offer.work_id, offer.consumer.id, agent, offer.least, offer.most)
            self.deals.append(deal)

    async def post_candidate(self) -> None:
        """An agent posts: good, bad, claimed too high, or the same again."""
        if not self.deals:
            return
        deal = self.dice.choice(self.deals)
        deps = self.suite.verification_deps
        words = self.dice.randint(0, 9)
        claims = {"word_count": self.dice.choice([words, words, 50])} if self.dice.random() < 0.3 else {}
        metadata = {"duration_ms": self.dice.choice([10, 900, 5000])} if self.dice.random() < 0.8 else {}
        candidate = Candidate.model_validate(
            {
                "output": {"text": " ".join(["word"] * words)},
                "execution_metadata": metadata,
                "claimed_metrics": claims,
            }
        )
        agent = Party(id=deal.agent)
        await self._until_done(
            self.suite.verification, lambda key: submit_output(deps, agent, deal.contract_id, candidate, key)
        )

    async def close_somehow(self) -> None:
        """An agent finalises, a consumer cancels, or neither may."""
        if not self.deals:
            return
        deal = self.dice.choice(self.deals)
        deps = self.suite.verification_deps
        if self.dice.random() < 0.5:
            await self._until_done(
                self.suite.verification, lambda key: finalise_contract(deps, deal.agent, deal.contract_id, key)
            )
        else:
            await self._until_done(
                self.suite.verification, lambda key: cancel_contract(deps, deal.consumer, deal.contract_id, key)
            )

    async def decide_a_hold(self, decision: Decision | None = None) -> None:
        """An operator decides."""
        deps = self.suite.governance_deps
        for hold_id in await self._waiting_holds():
            chosen = HoldDecision(decision=decision or self.dice.choice(list(Decision)), reason="looked at it")
            await self._until_done(
                self.suite.governance,
                lambda key, hold_id=hold_id, chosen=chosen: decide_hold(deps, "olga", hold_id, chosen, key),
            )
            if decision is None:
                return

    async def _waiting_holds(self) -> list[str]:
        found = await HOLDS.find(self.suite.governance.store, {"status": "waiting"}, "held_at", "desc")
        return [each.record.hold_id for each in found]

    # what the platform does

    async def deliver(self) -> None:
        """One message, any of those in flight; perhaps it comes twice, perhaps later."""
        flights = [each for each in self.suite.around.bus.flights if each.due_at <= self.clock.now().timestamp()]
        if not flights:
            return
        flight = self.dice.choice(flights)
        if self.dice.random() < self.faults.drop:
            flight.due_at = self.clock.now().timestamp() + self.dice.uniform(1, 600)
            return
        await self._deliver(flight, twice=self.dice.random() < self.faults.duplicate)

    async def _deliver(self, flight: Flight, *, twice: bool = False) -> None:
        service = self.suite.named(flight.service)
        self.trace.append(f"{flight.service} {flight.topic}")
        flight.attempt += 1
        delivery = Delivery(flight.topic, flight.message, 1)  # crashes here are the simulator's, not the message's
        disposition = await service.consumer.receive(delivery)
        if twice:
            await service.consumer.receive(delivery)
        if isinstance(disposition, Retry):
            flight.due_at = self.clock.now().timestamp() + disposition.delay.total_seconds()
            if self.faults == CALM:
                self.clock.advance(disposition.delay)
            return
        self.suite.around.bus.flights.remove(flight)

    async def fire_timers(self) -> None:
        """Time passes, and what came due fires."""
        self.clock.advance(timedelta(seconds=self.dice.choice([1, 30, 200, 4000])))
        for service in self.suite.services:
            await self._guarded(service, service.sweeper.fire_due(self.clock.now()))

    async def set_clock_back(self) -> None:
        """Clocks jump: what was due, or over, is so no longer."""
        self.clock.advance(-timedelta(seconds=self.dice.choice([1, 60, 5000, 90_000])))

    async def deliver_again(self) -> None:
        """A broker repeats messages that were done with long ago."""
        bus = self.suite.around.bus
        for old in self.dice.sample(bus.published, min(len(bus.published), 5)):
            bus.flights.append(Flight(old.service, old.topic, old.message))

    async def sweep(self) -> None:
        """The sweep publishes what stayed behind."""
        service = self.dice.choice(self.suite.services)
        await self._guarded(service, service.outbox.sweep())

    async def pump(self) -> None:
        """The pump publishes what was just committed."""
        service = self.dice.choice(self.suite.services)
        await self._guarded(service, service.outbox.flush())

    async def _guarded(self, service: Service, work: Any) -> None:
        try:
            await work
        except Crash:
            service.restart()

    async def _until_done(self, service: Service, call: Any) -> Any:
        """Call with one idempotency key until it is answered: what a careful client does."""
        self.keys += 1
        key = IdempotentRequest("simulator", f"key-{self.keys}", "same-body")
        for _ in range(50):
            try:
                return await call(key)
            except Crash:
                service.restart()
            except DomainError as refusal:
                self.trace.append(refusal.code)
                return None
        raise AssertionError("fifty crashes in a row")

    def _work(self) -> dict[str, Any]:
        threshold = self.dice.randint(1, 6)
        penalty = self.dice.choice(["0", "0.02", "3.5"])
        custom = self.dice.random() < self.custom_share
        code = self.dice.choices([SOUND, ENDLESS, DEADLY], [4, 1, 1])[0] if custom else None
        extra = {"metric": "custom.mine", "metric_type": "count", "comparison": "gte", "threshold": 2, "bonus": "0.07"}
        secrets = {"evaluation": {"custom_metrics": [{"name": "mine", "code": CODE.format(code)}]}} if code else {}
        return {
            **secrets,
            "title": "Write some words",
            "input": {"n": threshold},
            "success_criteria": {
                "criteria": [
                    {
                        "metric": "word_count",
                        "metric_type": "count",
                        "comparison": "gte",
                        "threshold": threshold,
                        "bonus": "0.05",
                        "penalty": penalty,
                    },
                    {
                        "metric": "latency_ms",
                        "metric_type": "latency",
                        "comparison": "lte",
                        "threshold": 1000,
                        "bonus": "0.000003",
                    },
                    *([extra | {"penalty": penalty}] if code else []),
                ],
                "aggregation": self.dice.choice(["all", "any", "weighted"]),
                "bonus_policy": self.dice.choice(["on_success", "per_criterion"]),
            },
            "budget": {
                "max_cpc": self.dice.choice(["0.10", "1.000001"]),
                "max_cpa_total": self.dice.choice([None, "0.04", "1"]),
                "max_penalty_total": self.dice.choice([None, "0"]),
                "base_policy": self.dice.choice(["judged", "on_success"]),
            },
            "verification": {"max_attempts": self.dice.randint(1, 3), "deadline_s": self.dice.choice([600, 86_400])},
        }
