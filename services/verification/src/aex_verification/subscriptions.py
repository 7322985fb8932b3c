"""Handlers of the events and timers of the service."""

from collections.abc import Mapping

from aex_models.events import (
    ContractAwarded,
    Event,
    OutcomeReviewed,
    OutputSubmitted,
    SettlementAdjusted,
    WorkSubmitted,
    parse_event_data,
)
from aex_runtime.records import EventHandler, RetryLater, Timer, TimerHandler
from aex_verification.deps import Deps
from aex_verification.handlers.admit import open_awarded_contract
from aex_verification.handlers.check_work import run_work_trial_and_publish_findings
from aex_verification.handlers.close import end_contract_if_deadline_passed
from aex_verification.handlers.conclude import end_or_hold_closing_contract, mark_outcome_as_paid_if_cost_is_positive
from aex_verification.handlers.hold_decisions import apply_hold_decision
from aex_verification.handlers.save_contract import CHECK, CONCLUDE, DEADLINE, VERIFY
from aex_verification.handlers.verify_attempt import is_in_progress, verify_attempt
from aex_verification.rules.checks import PendingCheck


def subscriptions(deps: Deps) -> Mapping[str, EventHandler]:
    """Return the handler of each subscribed topic, by topic."""

    async def contract_awarded(event: Event) -> None:
        await open_awarded_contract(deps, parse_event_data(event, ContractAwarded))

    async def output_submitted(event: Event) -> None:
        job = parse_event_data(event, OutputSubmitted)
        await verify_attempt(deps, job.contract_id, job.attempt_id)

    async def outcome_reviewed(event: Event) -> None:
        await apply_hold_decision(deps, parse_event_data(event, OutcomeReviewed))

    async def settlement_adjusted(event: Event) -> None:
        await mark_outcome_as_paid_if_cost_is_positive(deps, parse_event_data(event, SettlementAdjusted))

    async def work_submitted(event: Event) -> None:
        await run_work_trial_and_publish_findings(deps, PendingCheck(submitted=parse_event_data(event, WorkSubmitted)))

    return {
        "contract.awarded": contract_awarded,
        "output.submitted": output_submitted,
        "outcome.reviewed": outcome_reviewed,
        "settlement.adjusted": settlement_adjusted,
        "work.submitted": work_submitted,
    }


def timers(deps: Deps) -> Mapping[str, TimerHandler]:
    """Return the handler of each kind of timer, by its name."""

    async def deadline(timer: Timer) -> None:
        await end_contract_if_deadline_passed(deps, timer.subject)

    async def verify(timer: Timer) -> None:
        if is_in_progress(deps, timer.subject):
            # A slot or a worker may come after the lease: wait instead of grading twice.
            raise RetryLater(deps.policy.lease, "the attempt waits or is under way here")
        await verify_attempt(deps, str(timer.payload["contract_id"]), timer.subject)

    async def conclude(timer: Timer) -> None:
        await end_or_hold_closing_contract(deps, timer.subject)

    async def check(timer: Timer) -> None:
        if timer.subject in deps.slow_jobs:
            raise RetryLater(deps.policy.lease, "the trial waits or is under way here")
        await run_work_trial_and_publish_findings(deps, PendingCheck.model_validate(timer.payload))

    return {CHECK: check, DEADLINE: deadline, VERIFY: verify, CONCLUDE: conclude}
