"""A work was submitted: its code, its reference and its data are tried, and work-publisher is told what came of it.

A work with custom code waits for that, however long the sandbox is away; one without was open at once.
"""

from contextlib import ExitStack

import structlog
from pydantic import ValidationError

from aex_models.events import WorkChecked, WorkSubmitted
from aex_models.work import EvaluationBlob, EvaluationRef
from aex_outcomes.science.confined import ExaminationLost
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing, BlobTooLarge
from aex_runtime.handlers import Poison, RetryLater
from aex_runtime.store.keys import key_of
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.examine_candidate import Exhibit, examined
from aex_verification.handlers.slow_place import has_place
from aex_verification.handlers.timers import CHECK
from aex_verification.ports import TrialLost, TrialRequest, TrialUnavailable
from aex_verification.repository import CHECKS
from aex_verification.rules.checks import (
    MAX_LOST,
    UNRUNNABLE,
    Findings,
    PendingCheck,
    WorkCheck,
    data_warnings,
    is_slow_trial,
    needs_trial,
    tries_criteria,
    tries_data,
)
from aex_verification.rules.evaluation import AREA, read_blob
from aex_verification.rules.policy import SYSTEM_BACKOFF

_SLOW = 6
"""Failures after which a wait is near its longest: data that are lost do not come back in seconds."""
_log = structlog.get_logger(__name__)


async def check_work(deps: Deps, pending: PendingCheck) -> None:
    """Try what there is to try, once; a repeat tells again what the first one found.

    Raises `RetryLater` for evaluation data that are not there, `Poison` for what is none, `TrialBroken`.
    """
    submitted = pending.submitted
    if submitted.evaluation is None:
        return
    known = await CHECKS.get(deps.store, key_of(submitted.work_id))
    if known is not None:
        await _tell(deps, submitted, known.record.findings)
        return
    blob = await _blob(deps, submitted, submitted.evaluation)
    if not needs_trial(blob):
        return
    with ExitStack() as place:
        if is_slow_trial(blob) and not has_place(deps, submitted.consumer_id, place):
            await _wait(deps, pending, "others are tried")
            return
        findings = await _findings(deps, pending, blob)
    if findings is not None and (submitted.custom_metrics or findings.warnings):
        await _tell(deps, submitted, findings)


async def _blob(deps: Deps, submitted: WorkSubmitted, ref: EvaluationRef) -> EvaluationBlob:
    """The evaluation data. Work-publisher wrote them before it told of the work: missing, they are lost."""
    try:
        return read_blob(await deps.blobs.get(AREA, ref.digest, max_bytes=ref.size))
    except (BlobMissing, BlobCorrupt, BlobTooLarge) as error:
        _log.critical("evaluation_lost", alarm=True, work_id=submitted.work_id, kind=type(error).__name__)
        delay = SYSTEM_BACKOFF.delay(_SLOW, deps.ids.jitter())
        raise RetryLater(delay, f"the evaluation data of {submitted.work_id} are lost") from None
    except ValidationError:  # its text quotes the data
        raise Poison(f"the evaluation data of {submitted.work_id} are not readable") from None


async def _findings(deps: Deps, pending: PendingCheck, blob: EvaluationBlob) -> Findings | None:
    """What the trial finds; None where the work has to wait, or where there is nothing to tell any more."""
    submitted = pending.submitted
    try:
        return await _with_data(deps, pending, blob, await _tried(deps, submitted, blob))
    except TrialUnavailable as error:
        await _wait(deps, pending, str(error))
    except TrialLost as error:
        lost = pending.lost + 1
        if lost < MAX_LOST:
            await _wait(deps, pending.model_copy(update={"lost": lost}), str(error))
        elif submitted.custom_metrics:
            return Findings(problems=(UNRUNNABLE,))
        else:
            _log.error("work_not_checked", work_id=submitted.work_id, reason=str(error))
            return Findings()
    return None


async def _tried(deps: Deps, submitted: WorkSubmitted, blob: EvaluationBlob) -> Findings:
    """The dry run of custom code and of the reference, where there are any."""
    if blob.evaluation is None or not tries_criteria(blob):
        return Findings()
    return await deps.trials.dry_run(
        TrialRequest(submitted.consumer_id, blob.success_criteria, blob.input, blob.evaluation)
    )


async def _with_data(deps: Deps, pending: PendingCheck, blob: EvaluationBlob, found: Findings) -> Findings | None:
    """The findings with what the work's statistics do not find in its own data; None where the work has to wait."""
    submitted, science = pending.submitted, blob.science
    if science is None or not tries_data(blob):
        return found
    exhibit = Exhibit(f"trials of {submitted.consumer_id}", submitted.work_id, science, submitted.domain, None, {})
    try:
        domain = deps.catalog.domain_of(science.domain, submitted.domain)
        odd = data_warnings(science, domain, await examined(deps, exhibit))
    except ExaminationLost as error:
        lost = pending.data_lost + 1
        if lost < MAX_LOST:
            await _wait(deps, pending.model_copy(update={"data_lost": lost}), str(error))
            return None
        _log.error("work_data_not_tried", work_id=submitted.work_id, reason=str(error))
        return found
    return found.model_copy(update={"warnings": (*found.warnings, *odd)})


async def _wait(deps: Deps, pending: PendingCheck, reason: str) -> None:
    """Try again on a timer, without limit: a work is never refused, nor lost, for the platform's fault."""
    work_id, waited = pending.submitted.work_id, pending.waited + 1
    delay = SYSTEM_BACKOFF.delay(waited, deps.ids.jitter())
    again = pending.model_copy(update={"waited": waited}).model_dump(mode="json")

    async def wait(unit: Unit) -> None:
        unit.set_timer(CHECK, work_id, unit.now + delay, again)

    await deps.unit_of_work.run(wait)
    _log.warning("work_check_waits", work_id=work_id, reason=reason, retry_in_s=delay.total_seconds())


async def _tell(deps: Deps, submitted: WorkSubmitted, findings: Findings) -> None:
    """Write the end down and tell of it. Where there is one already, that one is told again, under the same id."""
    key = key_of(submitted.work_id)

    async def tell(unit: Unit) -> WorkChecked:
        stored = await unit.get(CHECKS, key)
        told = stored.record.findings if stored else findings
        event = WorkChecked(
            work_id=submitted.work_id, ok=not told.problems, problems=told.problems, warnings=told.warnings
        )
        if stored is None:
            unit.create(CHECKS, key, WorkCheck(work_id=submitted.work_id, findings=told, checked_at=unit.now))
        unit.emit("work.checked", submitted.work_id, event)
        unit.cancel_timer(CHECK, submitted.work_id)
        return event

    event = await deps.unit_of_work.run(tell)
    codes = [*(each.code for each in event.problems), *(each.code for each in event.warnings)]
    _log.info("work_checked", work_id=submitted.work_id, ok=event.ok, found=codes)
