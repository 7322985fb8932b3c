"""The four services as the simulator runs them: real handlers, outbox, consumers and timers over faulty stores."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from aex_governance.deps import Deps as GovernanceDeps
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.rules.config import load_rules
from aex_governance.subscriptions import subscriptions as governance_subscriptions
from aex_models.events import Event
from aex_models.governance import ValidationDecision, ValidationRequest
from aex_models.work import Problem
from aex_outcomes.catalog import Catalog
from aex_outcomes.sandbox.port import CodeFault, FaultKind, SandboxUnavailable
from aex_outcomes.submission import check_submission
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.blobs.port import Blobs
from aex_runtime.bus.consumer import Consumer
from aex_runtime.clock import SetClock
from aex_runtime.deadletters import DeadLetters
from aex_runtime.handlers import EventHandler, TimerHandler
from aex_runtime.ids import SeededIds
from aex_runtime.leases import Leases
from aex_runtime.outbox import OutboxPump
from aex_runtime.store.port import Store
from aex_runtime.timers import TimerSweeper
from aex_runtime.unit_of_work import Committed, UnitOfWork
from aex_settlement.deps import Deps as SettlementDeps
from aex_settlement.subscriptions import subscriptions as settlement_subscriptions
from aex_verification.deps import Deps as VerificationDeps
from aex_verification.ports import GovernanceUnavailable, TrialLost, TrialRequest, TrialUnavailable
from aex_verification.rules.checks import Findings
from aex_verification.rules.policy import Policy
from aex_verification.subscriptions import subscriptions as verification_subscriptions
from aex_verification.subscriptions import timers as verification_timers
from aex_verification.turnstile import Turnstile
from aex_verification.under_way import UnderWay
from aex_verification.waits import Waits
from aex_work_publisher.deps import Deps as PublisherDeps
from aex_work_publisher.subscriptions import subscriptions as publisher_subscriptions
from tests.parts.verification import AwardsFrom, EngineJudge, ExaminerInHand, PassingSpool
from tests.parts.verifiers import VERIFIERS, VerifiersInHand
from tests.simulation.faults import Crash, FaultyStore, Odds, SimulatedBus

Subscriptions = Mapping[str, EventHandler]


@dataclass(slots=True)
class Around:
    """What all four share."""

    clock: SetClock
    dice: random.Random
    odds: Callable[[], Odds]
    bus: SimulatedBus
    blobs: Blobs
    fee_rate: Decimal
    watched: Callable[[Store], Store]
    """Puts something between each service and its store."""


class Service:
    """One service: a store that lasts, and a process that can be restarted."""

    def __init__(self, name: str, around: Around) -> None:
        self.name = name
        self.around = around
        self.store = around.watched(FaultyStore(around.dice, around.odds))
        self.ids = SeededIds(around.dice.getrandbits(32))
        self.leases = Leases(name, self.store, around.clock, holder="only")
        self.dead_letters = DeadLetters(name, self.store, around.clock)
        self.unit_of_work = UnitOfWork(name, self.store, around.clock, self._committed)
        self.outbox = self._new_outbox()
        self.emitted: list[Event] = []
        self.subscriptions: Subscriptions = {}
        self.timers: Mapping[str, TimerHandler] = {}

    def wire(self, subscriptions: Subscriptions, timers: Mapping[str, TimerHandler] | None = None) -> None:
        """Give the process its handlers."""
        around = self.around
        self.subscriptions, self.timers = subscriptions, timers or {}
        self.consumer = Consumer(self.name, around.bus, self.dead_letters, around.clock, self.ids, subscriptions)
        self.sweeper = TimerSweeper(self.name, self.store, self.leases, around.clock, self.timers, self.ids)

    def restart(self) -> None:
        """What was in memory alone is gone."""
        self.outbox = self._new_outbox()

    def _new_outbox(self) -> OutboxPump:
        around = self.around
        return OutboxPump(self.name, self.store, around.bus, around.clock, self.ids, self.leases)

    def _committed(self, committed: Committed) -> None:
        self.emitted.extend(committed.events)
        self.outbox.notify(committed.events)


class SimulatedGovernance:
    """Governance over a network that fails now and then."""

    def __init__(self, deps: GovernanceDeps, around: Around) -> None:
        self._deps = deps
        self._around = around

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        if self._around.dice.random() < self._around.odds().governance_down:
            raise GovernanceUnavailable("no answer")
        try:
            return await validate_outcome(self._deps, request)
        except Crash as crash:
            raise GovernanceUnavailable("no answer") from crash


SOUND, ENDLESS, DEADLY = "sound", "endless", "deadly"
"""Custom code in the simulation: the last two are refused, one for its time-out, the other as no worker outlives it."""


class SimulatedTrials:
    """The dry run of code that says itself what is wrong with it, in a sandbox that is away now and then."""

    def __init__(self, around: Around) -> None:
        self._around = around

    async def dry_run(self, request: TrialRequest) -> Findings:
        if self._around.dice.random() < self._around.odds().sandbox_away:
            raise TrialUnavailable("SandboxUnavailable")
        [metric] = request.evaluation.custom_metrics
        if DEADLY in metric.code:
            raise TrialLost("JobCrashed")
        problem = Problem(path="/evaluation/custom_metrics/0/code", code="custom_metric_timeout", message="too slow")
        return Findings(problems=(problem,) if ENDLESS in metric.code else ())


class Suite:
    """All four, wired as in production but for the network."""

    def __init__(self, around: Around) -> None:
        self.publisher = Service("work-publisher", around)
        self.verification = Service("verification", around)
        self.governance = Service("governance", around)
        self.settlement = Service("settlement", around)
        self.around = around
        self.publisher_deps = self._publisher()
        self.governance_deps = GovernanceDeps(
            self.governance.unit_of_work, self.governance.store, around.clock, load_rules()
        )
        self.verification_deps = self._verification()
        self.settlement_deps = SettlementDeps(
            self.settlement.unit_of_work, self.settlement.store, around.clock, self.settlement.ids, lambda: None
        )
        self.publisher.wire(publisher_subscriptions(self.publisher_deps))
        self.governance.wire(governance_subscriptions(self.governance_deps))
        self.verification.wire(
            verification_subscriptions(self.verification_deps), verification_timers(self.verification_deps)
        )
        self.settlement.wire(settlement_subscriptions(self.settlement_deps))

    @property
    def services(self) -> tuple[Service, ...]:
        return (self.publisher, self.verification, self.governance, self.settlement)

    def named(self, name: str) -> Service:
        return next(service for service in self.services if service.name == name)

    def _publisher(self) -> PublisherDeps:
        catalog = Catalog.of()
        return PublisherDeps(
            unit_of_work=self.publisher.unit_of_work,
            store=self.publisher.store,
            blobs=self.around.blobs,
            ids=self.publisher.ids,
            check=lambda body: check_submission(body, catalog, verifiers=VERIFIERS),
            fee_rate=self.around.fee_rate,
        )

    def _code_meets(self, _: str) -> Exception | None:
        """What keeps custom code from judging a candidate, as the dice say."""
        odds, thrown = self.around.odds(), self.around.dice.random()
        if thrown < odds.sandbox_away:
            return SandboxUnavailable("away")
        failed = thrown < odds.sandbox_away + odds.code_fails
        return CodeFault(FaultKind.EXCEPTION, "KeyError") if failed else None

    def _verification(self) -> VerificationDeps:
        judge, verifiers = EngineJudge(), VerifiersInHand(self.around.clock)
        judge.breaks = verifiers.breaks = lambda: self.around.dice.random() < self.around.odds().verifier_breaks
        judge.sandbox.meets = self._code_meets
        return VerificationDeps(
            unit_of_work=self.verification.unit_of_work,
            store=self.verification.store,
            blobs=self.around.blobs,
            clock=self.around.clock,
            ids=self.verification.ids,
            judge=judge,
            examiner=ExaminerInHand(),
            spool=PassingSpool(self.around.blobs),
            verifiers=verifiers,
            trials=SimulatedTrials(self.around),
            slow_places=Turnstile(3, 6),
            governance=SimulatedGovernance(self.governance_deps, self.around),
            awards=AwardsFrom(self.publisher_deps),
            waits=Waits(),
            under_way=UnderWay(),
            policy=Policy(max_system_retries=3),
            catalog=Catalog.of(),
        )


def around(dice: random.Random, clock: SetClock, odds: Callable[[], Odds], watched: Callable[[Store], Store]) -> Around:
    """A world for one run."""
    return Around(clock, dice, odds, SimulatedBus(), open_blobs("memory:"), Decimal("0.05"), watched)
