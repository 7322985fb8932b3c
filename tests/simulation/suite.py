"""A replica of each of the four services, wired as in production except for the network."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from aex_governance.deps import Deps as GovernanceDeps
from aex_governance.rules.config import RuleConfig, load_rule_configs
from aex_governance.subscriptions import subscriptions as governance_subscriptions
from aex_models.events import SERVICES
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission import check_submission
from aex_settlement.deps import Deps as SettlementDeps
from aex_settlement.subscriptions import subscriptions as settlement_subscriptions
from aex_verification.deps import Deps as VerificationDeps
from aex_verification.fair_slots import FairSlots
from aex_verification.limits import EventSubscribers, InFlightAttempts, ReplayLimit
from aex_verification.notifier import Notifier
from aex_verification.rules.records import Policy
from aex_verification.slow_jobs import SlowJobs
from aex_verification.subscriptions import subscriptions as verification_subscriptions
from aex_verification.subscriptions import timers as verification_timers
from aex_work_publisher.deps import Deps as PublisherDeps
from aex_work_publisher.subscriptions import subscriptions as publisher_subscriptions
from tests.parts.verification import EngineGrader, InProcessExaminer
from tests.parts.verifiers import VERIFIERS, InProcessVerifiers
from tests.simulation.engine.dice import REPLICAS
from tests.simulation.faults.partners import (
    SimulatedAwards,
    SimulatedGovernance,
    SimulatedReviewer,
    SimulatedSpool,
    SimulatedTrials,
    find_code_fault,
)
from tests.simulation.services import DurableState, Environment, Service


@cache
def _catalog() -> Catalog:
    """Return the metric catalog. It is cached, because reading its domains takes half of a run's time."""
    return Catalog.of()


@cache
def _rules() -> Mapping[str, RuleConfig]:
    """Return the packaged rules. They are cached, because reading them takes a third of a run's time."""
    return load_rule_configs()


class Suite:
    """A replica of each of the four services, wired as in production except for the network."""

    def __init__(self, environment: Environment, durable_states: Mapping[str, DurableState], replica: int) -> None:
        self.publisher, self.verification, self.governance, self.settlement = (
            Service(name, replica, environment, durable_states[name]) for name in SERVICES
        )
        self.environment = environment
        self.publisher_deps = self._publisher()
        self.governance_deps = GovernanceDeps(
            self.governance.unit_of_work, self.governance.store, self.governance.clock, _rules()
        )
        self.verification_deps = environment.plant.verification(self._verification())
        self.settlement_deps = SettlementDeps(
            self.settlement.unit_of_work,
            self.settlement.store,
            self.settlement.clock,
            self.settlement.ids,
            lambda: None,
        )
        self.publisher.boot = lambda: self.publisher.wire(publisher_subscriptions(self.publisher_deps))
        self.governance.boot = lambda: self.governance.wire(governance_subscriptions(self.governance_deps))
        self.verification.boot = self._boot_verification
        self.settlement.boot = lambda: self.settlement.wire(settlement_subscriptions(self.settlement_deps))
        for service in self.services:
            service.boot()

    @property
    def services(self) -> tuple[Service, ...]:
        return (self.publisher, self.verification, self.governance, self.settlement)

    def named(self, name: str) -> Service:
        return next(service for service in self.services if service.name == name)

    def _boot_verification(self) -> None:
        deps = self.verification_deps = replace(
            self.verification_deps,
            notifier=Notifier(),
            in_flight=InFlightAttempts(),
            slow_jobs=_slow_jobs_by_timer(),
            subscribers=EventSubscribers(),
            replay_limit=ReplayLimit(),
        )
        self.verification.wire(verification_subscriptions(deps), verification_timers(deps))

    def _publisher(self) -> PublisherDeps:
        catalog = _catalog()
        return PublisherDeps(
            unit_of_work=self.publisher.unit_of_work,
            store=self.publisher.store,
            blobs=self.environment.blobs,
            ids=self.publisher.ids,
            check=lambda body: check_submission(body, catalog, verifiers=VERIFIERS, has_reviewer=True),
            fee_rate=self.environment.fee_rate,
        )

    def _verification(self) -> VerificationDeps:
        grader, verifiers, fate = EngineGrader(), InProcessVerifiers(self.verification.clock), self.environment.fate
        grader.breaks = verifiers.breaks = lambda: fate.happens("verifier_breaks")
        examiner = InProcessExaminer()
        examiner.breaks = lambda: fate.happens("examiner_away")
        grader.sandbox.meets = lambda _: find_code_fault(fate)
        return VerificationDeps(
            unit_of_work=self.verification.unit_of_work,
            store=self.verification.store,
            blobs=self.environment.blobs,
            clock=self.verification.clock,
            ids=self.verification.ids,
            grader=grader,
            examiner=examiner,
            spool=SimulatedSpool(self.environment.blobs),
            reviewer=SimulatedReviewer(fate),
            verifiers=verifiers,
            trials=SimulatedTrials(fate),
            slow_jobs=_slow_jobs_by_timer(),
            governance=SimulatedGovernance(self.governance_deps, self.governance, fate),
            awards=SimulatedAwards(self.publisher_deps, fate),
            notifier=Notifier(),
            in_flight=InFlightAttempts(),
            policy=Policy(max_system_retries=3),
            catalog=_catalog(),
        )


def _slow_jobs_by_timer() -> SlowJobs:
    """Return slots that wait by timers only, because a task outside of an action would survive a crash."""
    return SlowJobs(FairSlots(6, 0))


def build_suites(environment: Environment) -> tuple[Suite, ...]:
    """Return the replicas of all services, which share stores, bus and blobs."""
    durable_states = {name: DurableState(name, environment) for name in SERVICES}
    return tuple(Suite(environment, durable_states, replica) for replica in range(REPLICAS))
