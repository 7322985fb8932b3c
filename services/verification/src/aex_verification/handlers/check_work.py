"""Trials of submitted works: their code, reference and raw data are tried before anything is paid for.

Findings are reported to work-publisher. A work with custom code stays closed until its trial, however long the sandbox
is unavailable; other works are open at once.
"""

from contextlib import ExitStack
from datetime import timedelta
from functools import partial

import structlog
from pydantic import ValidationError

from aex_models.events import WorkChecked, WorkSubmitted
from aex_models.work import EvaluationBlob, EvaluationRef
from aex_outcomes.science.confined import ExaminationLost
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing, BlobTooLarge
from aex_runtime.records import Poison, RetryLater
from aex_runtime.store.port import key_of
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.examine_candidate import ExaminationInput, examine_without_review
from aex_verification.handlers.save_contract import CHECK
from aex_verification.ports import TrialLost, TrialRequest, TrialUnavailable
from aex_verification.repository import CHECKS
from aex_verification.rules.checks import (
    EVALUATION_AREA,
    MAX_LOST,
    UNRUNNABLE,
    PendingCheck,
    TrialFindings,
    WorkCheckRecord,
    find_data_warnings,
    is_slow_trial,
    needs_criteria_trial,
    needs_data_trial,
)
from aex_verification.rules.records import SYSTEM_BACKOFF
from aex_verification.slow_jobs import SlowJob

_LOST_DATA_RETRY = 6
"""Number of the retry whose delay is used when data are lost; it is near the longest delay."""
_log = structlog.get_logger(__name__)


async def run_work_trial_and_publish_findings(deps: Deps, pending: PendingCheck) -> None:
    """Run the trial of a submitted work and publish its findings (`work.checked`).

    A repeat publishes the first findings. A slow trial without a free slot waits outside of this call. Raises
    `RetryLater` for missing evaluation data, `Poison` for unreadable ones, and `TrialBroken`.
    """
    submitted = pending.submitted
    if submitted.work_id in deps.slow_jobs:
        return  # a second delivery; the first one has a timer
    blob = await _load_due_trial_or_republish(deps, submitted)
    if blob is None:
        return
    with ExitStack() as slot:
        if is_slow_trial(blob) and not deps.slow_jobs.try_acquire(submitted.consumer_id, slot):
            await _wait_for_slot(deps, pending)
            return
        findings = await _try_work(deps, pending, blob)
    if findings is not None and _is_published(submitted, findings):
        await _publish(deps, submitted, findings)


async def _wait_for_slot(deps: Deps, pending: PendingCheck) -> None:
    """Let the trial wait for a slot in memory, or only by its timer if too many wait."""
    work_id, consumer_id = pending.submitted.work_id, pending.submitted.consumer_id
    if not deps.slow_jobs.may_wait(consumer_id):
        await _delay(deps, pending, "too many slow jobs wait")
        return
    await _set_timer(deps, pending, deps.policy.lease)
    check, resume = partial(_check_in_turn, deps, pending), partial(_set_timer, deps, pending, timedelta())
    deps.slow_jobs.start(SlowJob(work_id, consumer_id, "try slow work", check, resume))


async def _check_in_turn(deps: Deps, pending: PendingCheck, slot: ExitStack) -> None:
    """Restart the timer of a trial that now has a slot, and run the trial unless another process did."""
    submitted = pending.submitted
    await _set_timer(deps, pending, deps.policy.verification_lease)
    blob = await _load_due_trial_or_republish(deps, submitted)
    findings: TrialFindings | None = TrialFindings()
    if blob is not None:
        with slot:
            findings = await _try_work(deps, pending, blob)
    if findings is None:
        return  # its timer has a new time
    if _is_published(submitted, findings):
        await _publish(deps, submitted, findings)
    else:
        await _cancel_timer(deps, submitted.work_id)


async def _load_due_trial_or_republish(deps: Deps, submitted: WorkSubmitted) -> EvaluationBlob | None:
    """Return the evaluation data of a work whose trial is due; None if no trial is due.

    If the trial ran before, its findings are published again, and None is returned.
    """
    if submitted.evaluation is None:
        return None
    known = await CHECKS.get(deps.store, key_of(submitted.work_id))
    if known is not None:
        await _publish(deps, submitted, known.record.findings)
        return None
    blob = await _load_blob(deps, submitted, submitted.evaluation)
    return blob if needs_criteria_trial(blob) or needs_data_trial(blob) else None


def _is_published(submitted: WorkSubmitted, findings: TrialFindings) -> bool:
    return submitted.custom_metrics or bool(findings.warnings)


async def _load_blob(deps: Deps, submitted: WorkSubmitted, ref: EvaluationRef) -> EvaluationBlob:
    try:
        content = await deps.blobs.get(EVALUATION_AREA, ref.digest, max_bytes=ref.size)
        return EvaluationBlob.model_validate_json(content)
    except (BlobMissing, BlobCorrupt, BlobTooLarge) as error:
        # Work-publisher writes the data before its event.
        _log.critical("evaluation_lost", alarm=True, work_id=submitted.work_id, kind=type(error).__name__)
        delay = SYSTEM_BACKOFF.delay(_LOST_DATA_RETRY, deps.ids.jitter())
        raise RetryLater(delay, f"the evaluation data of {submitted.work_id} are lost") from None
    except ValidationError:  # its text quotes the data
        raise Poison(f"the evaluation data of {submitted.work_id} are not readable") from None


async def _try_work(deps: Deps, pending: PendingCheck, blob: EvaluationBlob) -> TrialFindings | None:
    """Run the trial and return its findings; None if a retry was scheduled."""
    submitted = pending.submitted
    try:
        findings = TrialFindings()
        if blob.evaluation is not None and needs_criteria_trial(blob):
            trial = TrialRequest(submitted.consumer_id, blob.success_criteria, blob.input, blob.evaluation)
            findings = await deps.trials.dry_run(trial)
        return await _add_data_warnings(deps, pending, blob, findings)
    except TrialUnavailable as error:
        await _delay(deps, pending, str(error))
    except TrialLost as error:
        lost = pending.lost + 1
        if lost < MAX_LOST:
            await _delay(deps, pending.model_copy(update={"lost": lost}), str(error))
        elif submitted.custom_metrics:
            return TrialFindings(problems=(UNRUNNABLE,))
        else:
            _log.error("work_not_checked", work_id=submitted.work_id, reason=str(error))
            return TrialFindings()
    return None


async def _add_data_warnings(
    deps: Deps, pending: PendingCheck, blob: EvaluationBlob, findings: TrialFindings
) -> TrialFindings | None:
    """Return the findings with warnings about the work's own data; None if a retry was scheduled."""
    submitted, science = pending.submitted, blob.science
    if science is None or not needs_data_trial(blob):
        return findings
    queue = f"trials of {submitted.consumer_id}"
    request = ExaminationInput(queue, submitted.work_id, science, submitted.domain, None, {})
    try:
        domain = deps.catalog.resolve_domain(science.domain, submitted.domain)
        warnings = find_data_warnings(science, domain, await examine_without_review(deps, request))
    except ExaminationLost as error:
        lost = pending.data_lost + 1
        if lost < MAX_LOST:
            await _delay(deps, pending.model_copy(update={"data_lost": lost}), str(error))
            return None
        _log.error("work_data_not_tried", work_id=submitted.work_id, reason=str(error))
        return findings
    return findings.model_copy(update={"warnings": (*findings.warnings, *warnings)})


async def _delay(deps: Deps, pending: PendingCheck, reason: str) -> None:
    """Schedule a retry by timer. Retries are unlimited: a failure of the platform refuses no work."""
    work_id, waited = pending.submitted.work_id, pending.waited + 1
    delay = SYSTEM_BACKOFF.delay(waited, deps.ids.jitter())
    await _set_timer(deps, pending.model_copy(update={"waited": waited}), delay)
    _log.warning("work_check_delayed", work_id=work_id, reason=reason, retry_in_s=delay.total_seconds())


async def _set_timer(deps: Deps, pending: PendingCheck, delay: timedelta) -> None:
    payload = pending.model_dump(mode="json")

    async def set_timer(unit: Unit) -> None:
        unit.set_timer(CHECK, pending.submitted.work_id, unit.now + delay, payload)

    await deps.unit_of_work.run(set_timer)


async def _cancel_timer(deps: Deps, work_id: str) -> None:
    async def cancel(unit: Unit) -> None:
        unit.cancel_timer(CHECK, work_id)

    await deps.unit_of_work.run(cancel)


async def _publish(deps: Deps, submitted: WorkSubmitted, findings: TrialFindings) -> None:
    """Store and publish the findings, and cancel the timer; if findings are stored already, publish those."""
    key = key_of(submitted.work_id)

    async def publish(unit: Unit) -> WorkChecked:
        stored = await unit.get(CHECKS, key)
        final = stored.record.findings if stored else findings
        event = WorkChecked(
            work_id=submitted.work_id, ok=not final.problems, problems=final.problems, warnings=final.warnings
        )
        if stored is None:
            unit.create(CHECKS, key, WorkCheckRecord(work_id=submitted.work_id, findings=final, checked_at=unit.now))
        unit.emit("work.checked", submitted.work_id, event)
        unit.cancel_timer(CHECK, submitted.work_id)
        return event

    event = await deps.unit_of_work.run(publish)
    codes = [*(each.code for each in event.problems), *(each.code for each in event.warnings)]
    _log.info("work_checked", work_id=submitted.work_id, ok=event.ok, found=codes)
