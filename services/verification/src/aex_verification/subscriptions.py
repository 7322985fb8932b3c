"""Events and timers in: the same handlers as the API's."""

from collections.abc import Mapping

from aex_models.events import ContractAwarded, Event, OutcomeReviewed, OutputSubmitted, WorkSubmitted, read_data
from aex_runtime.handlers import EventHandler, RetryLater, TimerHandler
from aex_runtime.timer_entry import Timer
from aex_verification.deps import Deps
from aex_verification.handlers.admit import admit_contract
from aex_verification.handlers.check_work import check_work
from aex_verification.handlers.close import expire_contract
from aex_verification.handlers.conclude import conclude_contract
from aex_verification.handlers.review import review_outcome
from aex_verification.handlers.timers import CHECK, CONCLUDE, DEADLINE, VERIFY
from aex_verification.handlers.verify_attempt import verify_attempt
from aex_verification.rules.checks import PendingCheck


def subscriptions(deps: Deps) -> Mapping[str, EventHandler]:
    """A handler for each topic that verification subscribes to."""

    async def contract_awarded(event: Event) -> None:
        await admit_contract(deps, read_data(event, ContractAwarded))

    async def output_submitted(event: Event) -> None:
        job = read_data(event, OutputSubmitted)
        await verify_attempt(deps, job.contract_id, job.attempt_id)

    async def outcome_reviewed(event: Event) -> None:
        await review_outcome(deps, read_data(event, OutcomeReviewed))

    async def work_submitted(event: Event) -> None:
        await check_work(deps, PendingCheck(submitted=read_data(event, WorkSubmitted)))

    return {
        "contract.awarded": contract_awarded,
        "output.submitted": output_submitted,
        "outcome.reviewed": outcome_reviewed,
        "work.submitted": work_submitted,
    }


def timers(deps: Deps) -> Mapping[str, TimerHandler]:
    """A handler for each kind of timer."""

    async def deadline(timer: Timer) -> None:
        await expire_contract(deps, timer.subject)

    async def verify(timer: Timer) -> None:
        if timer.subject in deps.under_way:
            # A queue of workers may be longer than the lease: look again later instead of judging twice.
            raise RetryLater(deps.policy.verifying, "the attempt is under way here")
        await verify_attempt(deps, str(timer.payload["contract_id"]), timer.subject)

    async def conclude(timer: Timer) -> None:
        await conclude_contract(deps, timer.subject)

    async def check(timer: Timer) -> None:
        await check_work(deps, PendingCheck.model_validate(timer.payload))

    return {CHECK: check, DEADLINE: deadline, VERIFY: verify, CONCLUDE: conclude}
