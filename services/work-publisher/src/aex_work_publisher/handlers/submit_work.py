"""Publication of works, their validation without publication, and the check of the raw data they name."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from structlog.contextvars import bind_contextvars

from aex_models.audiences import Audience
from aex_models.contract import MAX_TOTAL_BYTES
from aex_models.governance import Party
from aex_models.work import EvaluationRef, Problem, Work, WorkAnswer, WorkSubmission, WorkValidation
from aex_outcomes.submission import Checked
from aex_runtime.artifacts import Uploads, missing_upload_problems, total_size
from aex_runtime.errors import InvalidRequest, Unprocessable, summarize_problems
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.identity.principals import Principal
from aex_runtime.unit_of_work import Unit
from aex_work_publisher.deps import Deps
from aex_work_publisher.handlers.read_work import get_work
from aex_work_publisher.measures import SUBMITTED_TOTAL
from aex_work_publisher.repository import DATA_AREA, UPLOADS, insert_work, store_evaluation_data
from aex_work_publisher.rules.publication import (
    build_evaluation_blob,
    build_submitted_event,
    build_work_record,
    rebuild_submission_body,
    with_secrets,
)
from aex_work_publisher.rules.records import WorkRecord

_MAX_FILES = 10
"""Files of one work whose uploads are looked up; a longer list is refused by the check of the submission."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


def make_upload_store(deps: Deps) -> Uploads:
    """Return the store of the raw data files that consumers uploaded."""
    return Uploads(UPLOADS, DATA_AREA, deps.blobs, deps.store, deps.unit_of_work, bounds=deps.bounds)


async def find_own_upload_size(deps: Deps, reader: Principal, digest: str) -> int | None:
    """Return the size in bytes of a file that the reader uploaded; None if there is none."""
    found = await make_upload_store(deps).find(reader.role, reader.id, [digest])
    return found[digest].size if found else None


async def check_data_uploads(deps: Deps, consumer: Principal, body: Any, checked: Checked) -> Checked:
    """Return the check with a problem for each file in `science.data` that the consumer has not uploaded.

    Files that are too large in total are a problem too. With any new problem the result has no submission and no quote.
    """
    named = _named_digests(body)
    if not named:
        return checked
    found = await make_upload_store(deps).find(Audience.CONSUMER, consumer.id, named.values())
    problems = missing_upload_problems(list(named.items()), found, "/v1/artifacts")
    if total_size(named.values(), found) > MAX_TOTAL_BYTES:
        message = f"At most {MAX_TOTAL_BYTES // 1_000_000} MB of data in all"
        problems.append(Problem(path="/science/data", code="data_too_large", message=message))
    if not problems:
        return checked
    every = (*checked.problems, *problems)
    return replace(checked, submission=None, problems=every, warnings=(), quote=None, only_shape=False)


def _named_digests(body: Any) -> dict[str, str]:
    """Return the well-formed SHA-256 digests in `science.data`, by the JSON pointer of each."""
    science = body.get("science") if isinstance(body, Mapping) else None
    data = science.get("data") if isinstance(science, Mapping) else None
    files = enumerate(data[:_MAX_FILES]) if isinstance(data, list) else ()
    digests = {f"/science/data/{at}/sha256": file.get("sha256") for at, file in files if isinstance(file, Mapping)}
    return {path: each for path, each in digests.items() if isinstance(each, str) and _DIGEST.fullmatch(each)}


_OFF_LOOP_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Body:
    """Submission parsed from JSON, and its length in bytes."""

    value: Any
    size: int


async def check_submission_and_data(deps: Deps, consumer: Principal, body: Body) -> Checked:
    """Return problems, warnings and price quote of a submission, including its raw data.

    A submission above 16 KB is checked in a thread: it may hold megabytes of schemas. For a small one a thread costs
    more than the check.
    """
    is_large = body.size > _OFF_LOOP_BYTES
    checked = await asyncio.to_thread(deps.check, body.value) if is_large else deps.check(body.value)
    return await check_data_uploads(deps, consumer, body.value, checked)


async def validate_work(deps: Deps, consumer: Principal, body: Body) -> WorkValidation:
    """Return problems, warnings and quote that `submit_work` would find. Stores nothing."""
    found = await check_submission_and_data(deps, consumer, body)
    return WorkValidation(valid=not found.problems, problems=found.problems, warnings=found.warnings, quote=found.quote)


async def submit_work(
    deps: Deps, consumer: Principal, body: Body, request: IdempotentRequest
) -> tuple[Effect, Work | WorkAnswer]:
    """Publish a work, once per idempotency key; the effect's resource is the work's id.

    Stores work and evaluation data, and emits `work.submitted`. The second result is the work, with warnings and
    quote. A repeat returns the work that was published first; if its metrics no longer exist, warnings and quote are
    missing. Raises:
    - `InvalidRequest` or `Unprocessable` with every problem of the submission;
    - `TemporarilyUnavailable` when the disk is nearly full.
    """
    work_id = deps.ids.new("work")
    accepted: tuple[WorkSubmission, Checked, EvaluationRef | None] | None = None
    written: WorkRecord | None = None

    async def submit(unit: Unit) -> str:
        nonlocal accepted, written
        deps.bounds.require_free_disk_space()
        # Within the unit, so that a repeat stores nothing; once, so that a unit that runs again stores one blob.
        # Content under its digest that nothing points to is no effect.
        accepted = accepted or await _accept(deps, consumer, body)
        submission, _, evaluation = accepted
        party = Party(id=consumer.id, org=consumer.org)
        written = build_work_record(submission, work_id, party, evaluation, unit.now)
        insert_work(unit, written)
        unit.emit("work.submitted", work_id, build_submitted_event(written))
        unit.measures.count(SUBMITTED_TOTAL)
        return work_id

    effect = await run_idempotent(deps.unit_of_work, request, submit)
    bind_contextvars(work_id=effect.resource_id)
    if effect.is_replay or accepted is None or written is None:
        work = await get_work(deps, consumer, effect.resource_id)
        return effect, _answer(
            work, await check_submission_and_data(deps, consumer, Body(rebuild_submission_body(work), body.size))
        )
    submission, checked, _ = accepted
    return effect, _answer(with_secrets(written, submission), checked)


async def _accept(deps: Deps, consumer: Principal, body: Body) -> tuple[WorkSubmission, Checked, EvaluationRef | None]:
    """Return the valid submission, its check, and the reference to its stored secrets.

    Raises as `submit_work` does.
    """
    checked = await check_submission_and_data(deps, consumer, body)
    if checked.submission is None:
        refusal = Unprocessable if checked.only_shape else InvalidRequest
        raise refusal("invalid_work", summarize_problems(checked.problems), checked.problems)
    secrets = build_evaluation_blob(checked.submission, deps.ids.salt)
    reference = await store_evaluation_data(deps.blobs, secrets) if secrets else None
    return checked.submission, checked, reference


def _answer(work: Work, checked: Checked) -> Work | WorkAnswer:
    if checked.quote is None:
        return work
    fields = {name: getattr(work, name) for name in Work.model_fields}
    return WorkAnswer(**fields, warnings=checked.warnings, quote=checked.quote)
