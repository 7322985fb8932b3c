"""A consumer publishes a work."""

from dataclasses import dataclass

from structlog.contextvars import bind_contextvars

from aex_models.governance import Party
from aex_models.work import EvaluationRef, Work, WorkAnswer, WorkSubmission
from aex_outcomes.submission import Checked
from aex_runtime.errors import InvalidRequest, Unprocessable, told
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.identity.principal import Principal
from aex_runtime.unit_of_work import Unit
from aex_work_publisher.deps import Deps
from aex_work_publisher.handlers.check_work import Body, check_work
from aex_work_publisher.handlers.read_work import get_work
from aex_work_publisher.measures import SUBMITTED_TOTAL
from aex_work_publisher.repository import create_work, put_evaluation
from aex_work_publisher.rules.publication import published, resubmission, secrets_of, submitted_event, whole
from aex_work_publisher.rules.records import WorkRecord


@dataclass(frozen=True, slots=True)
class _Accepted:
    """A submission that is in order, its secrets stored."""

    submission: WorkSubmission
    checked: Checked
    evaluation: EvaluationRef | None


async def submit_work(
    deps: Deps, consumer: Principal, body: Body, request: IdempotentRequest
) -> tuple[Effect, Work | WorkAnswer]:
    """Publish what `body` describes; the effect names the work.

    Raises `InvalidRequest` or `Unprocessable` with everything that is wrong. A repeat gives the work of the first
    time, rendered anew: without warnings and quote where the catalogue no longer knows what the work asks for.
    """
    work_id = deps.ids.new("work")
    accepted: _Accepted | None = None
    written: WorkRecord | None = None

    async def submit(unit: Unit) -> str:
        nonlocal accepted, written
        # Within the unit, so that a repeat stores nothing; once, so that a unit that runs again stores one blob.
        # Content under its digest that nothing points to is no effect.
        accepted = accepted or await _accept(deps, consumer, body)
        party = Party(id=consumer.id, org=consumer.org)
        written = published(accepted.submission, work_id, party, accepted.evaluation, unit.now)
        create_work(unit, written)
        unit.emit("work.submitted", work_id, submitted_event(written))
        unit.measures.count(SUBMITTED_TOTAL)
        return work_id

    effect = await run_idempotent(deps.unit_of_work, request, submit)
    bind_contextvars(work_id=effect.resource_id)
    if effect.replayed or accepted is None or written is None:
        work = await get_work(deps, consumer, effect.resource_id)
        return effect, _answer(work, await check_work(deps, consumer, Body(resubmission(work), body.size)))
    return effect, _answer(whole(written, accepted.submission), accepted.checked)


async def _accept(deps: Deps, consumer: Principal, body: Body) -> _Accepted:
    checked = await check_work(deps, consumer, body)
    if checked.submission is None:
        refusal = Unprocessable if checked.only_shape else InvalidRequest
        raise refusal("invalid_work", told(checked.problems), checked.problems)
    secrets = secrets_of(checked.submission, deps.ids.salt)
    reference = await put_evaluation(deps.blobs, secrets) if secrets else None
    return _Accepted(checked.submission, checked, reference)


def _answer(work: Work, checked: Checked) -> Work | WorkAnswer:
    if checked.quote is None:
        return work
    fields = {name: getattr(work, name) for name in Work.model_fields}
    return WorkAnswer(**fields, warnings=checked.warnings, quote=checked.quote)
