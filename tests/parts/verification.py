"""Verification's handlers over a store in memory, with the real engine and governance's real rules."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aex_governance.deps import Deps as GovernanceDeps
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.rules.config import load_rule_configs
from aex_models.canonical import canonical_bytes
from aex_models.contract import Award, Terms
from aex_models.events import ContractAwarded, Event
from aex_models.examination import Examination
from aex_models.governance import Party, ValidationDecision, ValidationRequest
from aex_models.science import Science
from aex_models.work import Budget, EvaluationRef, Work, WorkStatus
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.job import _verification_input
from aex_outcomes.engine.verification import VerificationEngine
from aex_outcomes.sandbox.port import Context, Limits, Returned
from aex_outcomes.science.confined import DataLimits, ExaminationLost, ExaminationRequest, build_examination_payload
from aex_outcomes.science.job import examine_candidate
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.clock import SetClock
from aex_runtime.errors import NotFound
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.ids import SeededIds
from aex_runtime.leases import Leases
from aex_runtime.records import Timer, timers_table
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.timers import TimerSweeper
from aex_runtime.unit_of_work import UnitOfWork
from aex_verification.deps import Deps
from aex_verification.grading import make_job_payload
from aex_verification.limits import InFlightAttempts
from aex_verification.notifier import Notifier
from aex_verification.ports import (
    FoundAward,
    GovernanceRefused,
    GovernanceUnavailable,
    Grade,
    GradeRequest,
    TrialLost,
    TrialRequest,
    TrialUnavailable,
)
from aex_verification.rules.checks import TrialFindings
from aex_verification.rules.records import GovernanceFacts, Policy
from aex_verification.slow_jobs import SlowJobs
from aex_verification.spool import Spool
from aex_verification.subscriptions import subscriptions, timers
from aex_work_publisher.deps import Deps as PublisherDeps
from aex_work_publisher.handlers.read_work import get_award_event_and_trace
from tests.parts.verifiers import FailingPart, InProcessVerifiers

START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3, "bonus": "0.05"}
NO_KEY = IdempotentRequest("test", None, "")


class SimulatedSandbox:
    """A sandbox that counts words instead of running code, or raises the exception that `meets` returns."""

    def __init__(self) -> None:
        self.meets: Callable[[str], Exception | None] = lambda _: None

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        del limits
        fault = self.meets(code)
        if fault is not None:
            raise fault
        return Returned(len(str(context.output["text"]).split()), {})


class EngineGrader(FailingPart):
    """A grader that runs the real engine in this process."""

    def __init__(self) -> None:
        super().__init__()
        self.graded = 0
        self.sandbox = SimulatedSandbox()
        self._engine = VerificationEngine(sandbox=self.sandbox)

    async def grade(self, request: GradeRequest) -> Grade:
        self.graded += 1
        if self.breaks():
            return Grade(None, error="JobTimeout")
        payload = make_job_payload(request, {}) | {"verified_at": START.isoformat()}
        assessment = await self._engine.verify_without_governance(_verification_input(payload))
        return Grade(assessment.result, GovernanceFacts.model_validate(assessment.facts, from_attributes=True))

    async def grade_together(self, requests: Sequence[GradeRequest]) -> list[Grade] | None:
        return [await self.grade(each) for each in requests]


class InProcessExaminer(FailingPart):
    """An examiner that runs the real examination in this process."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[ExaminationRequest] = []

    async def examine_with_retries(self, request: ExaminationRequest) -> Examination:
        self.requests.append(request)
        if self.breaks():
            raise ExaminationLost("WorkersUnavailable")
        payload = build_examination_payload(request, DataLimits())
        answer = examine_candidate(json.loads(json.dumps(payload)))
        return Examination.model_validate(json.loads(json.dumps(answer["examination"])))


class ScriptedTrials:
    """Dry runs that return scripted findings.

    `down`: no sandbox is available. `lost`: number of workers that die before one succeeds.
    """

    def __init__(self) -> None:
        self.found = TrialFindings()
        self.down: Callable[[], bool] = lambda: False
        self.lost = 0
        self.requests: list[TrialRequest] = []

    async def dry_run(self, request: TrialRequest) -> TrialFindings:
        if self.down():
            raise TrialUnavailable("SandboxUnavailable")
        self.requests.append(request)
        self.lost -= 1
        if self.lost >= 0:
            raise TrialLost("JobCrashed")
        return self.found


class DirectGovernance:
    """Governance's real handler, called without a network.

    `down`: it does not answer. `refusing`: it answers 422.
    """

    def __init__(self, deps: GovernanceDeps) -> None:
        self.deps = deps
        self.down: Callable[[], bool] = lambda: False
        self.refusing: Callable[[], bool] = lambda: False
        self.requests: list[ValidationRequest] = []

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        if self.down():
            raise GovernanceUnavailable("no answer")
        self.requests.append(request)
        if self.refusing():
            raise GovernanceRefused("422")
        return await validate_outcome(self.deps, request)


@dataclass
class ScriptedAwards:
    awards: dict[str, ContractAwarded] = field(default_factory=dict)
    traceparent: str | None = None

    async def get(self, contract_id: str) -> FoundAward | None:
        found = self.awards.get(contract_id)
        return None if found is None else FoundAward(found, self.traceparent)


class DirectAwards:
    def __init__(self, deps: PublisherDeps) -> None:
        self._deps = deps

    async def get(self, contract_id: str) -> FoundAward | None:
        try:
            return FoundAward(*await get_award_event_and_trace(self._deps, contract_id))
        except NotFound:
            return None


class VerificationBench:
    """Verification's handlers with all collaborators, a clock to move, and readers of committed data."""

    def __init__(self, store: Store | None = None, policy: Policy | None = None, seed: int = 0) -> None:
        self.clock = SetClock(START)
        self.store: Store = store or MemoryStore()
        self.blobs = open_blobs("memory:")
        self.grader = EngineGrader()
        self.verifiers = InProcessVerifiers(self.clock)
        self.trials = ScriptedTrials()
        self.examiner = InProcessExaminer()
        self.awards = ScriptedAwards()
        self.events: list[Event] = []
        governance_store = MemoryStore()
        governance = UnitOfWork("governance", governance_store, self.clock, lambda _: None)
        self.governance = DirectGovernance(
            GovernanceDeps(governance, governance_store, self.clock, load_rule_configs())
        )
        self.deps = Deps(
            unit_of_work=UnitOfWork("verification", self.store, self.clock, lambda by: self.events.extend(by.events)),
            store=self.store,
            blobs=self.blobs,
            clock=self.clock,
            ids=SeededIds(seed),
            grader=self.grader,
            examiner=self.examiner,
            spool=Spool(self.blobs),
            verifiers=self.verifiers,
            trials=self.trials,
            slow_jobs=SlowJobs(),
            governance=self.governance,
            awards=self.awards,
            notifier=Notifier(),
            in_flight=InFlightAttempts(),
            policy=policy or Policy(),
            catalog=Catalog.of(),
        )
        self._seed = seed
        self.rewire(self.deps)

    def rewire(self, deps: Deps) -> None:
        self.deps = deps
        self.handlers = subscriptions(deps)
        leases = Leases("verification", self.store, self.clock, holder="bench")
        ids = SeededIds(self._seed + 1)
        self.sweeper = TimerSweeper("verification", self.store, leases, self.clock, timers(deps), ids)

    async def timers(self) -> list[Timer]:
        return [each.record for each in await timers_table("verification").find(self.store, order="due_at")]

    def emitted(self, event_type: str) -> list[Event]:
        return [event for event in self.events if event.type == event_type]

    async def award(self, contract_id: str = "ctr_1", **changes: Any) -> ContractAwarded:
        """Award a summarisation work with three attempts at 0.10, bonus 0.05, and open its contract.

        `changes` are fields of the work, its `evaluation` and `science`, and the `terms` and `consumer` of the award.
        """
        ref, consumer = None, changes.pop("consumer", Party(id="acme"))
        evaluation, science = changes.pop("evaluation", None), changes.pop("science", None)
        terms = Terms.model_validate(changes.pop("terms", {"cpc_rate": "0.10"}))
        if evaluation or science:
            secrets = {"salt": "0" * 64, "evaluation": evaluation, "science": science}
            blob = await self.deps.blobs.put("evaluation", canonical_bytes(secrets))
            ref = EvaluationRef(digest=blob.digest, size=blob.size)
        plain: dict[str, Any] = {
            "work_id": f"work_{contract_id}",
            "consumer_id": consumer.id,
            "title": "Summarise",
            "domain": "general",
            "budget": Budget(max_cpc="0.10"),
            "success_criteria": {"criteria": [WORDS]},
            "science": Science.model_validate(science).without_secrets() if science else None,
            "status": WorkStatus.AWARDED,
            "created_at": START,
        }
        work = Work.model_validate({**plain, **changes})
        award = Award(
            contract_id=contract_id,
            work_id=work.work_id,
            consumer=consumer,
            agent_id="bot",
            cpc_rate=terms.cpc_rate,
            terms=terms,
            deadline=START + timedelta(seconds=work.verification.deadline_s),
            awarded_at=START,
        )
        awarded = ContractAwarded(award=award, work=work, terms=terms, evaluation=ref)
        self.awards.awards[contract_id] = awarded
        await self.handlers["contract.awarded"](make_event("contract.awarded", contract_id, awarded))
        return awarded

    async def deliver(self, event_type: str) -> None:
        for event in self.emitted(event_type):
            await self.handlers[event_type](event)

    async def pass_time(self, by: timedelta) -> None:
        """Move the clock by `by`, and fire each timer at the moment when it is due."""
        end = self.clock.now() + by
        while True:
            found = await timers_table("verification").find(self.store, order="due_at", limit=1)
            if not found or found[0].record.due_at > end:
                break
            self.clock.advance(max(found[0].record.due_at - self.clock.now(), timedelta()))
            await self.sweeper.fire_due(self.clock.now())
        self.clock.advance(end - self.clock.now())


def make_event(event_type: str, subject: str, data: Any) -> Event:
    event_id, body = f"evt_{event_type}_{subject}", data.model_dump(mode="json")
    return Event(id=event_id, type=event_type, source="/test", subject=subject, time=START, data=body)
