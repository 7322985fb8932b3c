"""Science of a candidate: claims compared with raw data, a peer review, and the gate's conclusion."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from aex_models.contract import Artifact
from aex_models.domains import Domain
from aex_models.examination import DataOwner, Examination
from aex_models.science import DataFile, Science, ScienceResult
from aex_outcomes.science.confined import ExaminationLost, ExaminationRequest
from aex_outcomes.science.gate import decide_science_result
from aex_outcomes.science.peer_review_port import ReviewBrief, Reviewed, ReviewedFile, needs_review, render_output_text
from aex_runtime.telemetry import mark_span_failed, trace_step
from aex_runtime.tracing.spans import id_attributes
from aex_verification.deps import Deps
from aex_verification.spool import FileLost, SpoolUnavailable

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ExaminationInput:
    """Input of an examination: a candidate, and the science that its work demands."""

    consumer_id: str
    attempt_id: str
    science: Science
    """With the consumer's secrets."""
    domain: str | None
    """Domain of the work, used where its science names none."""
    output: Any
    claims: Mapping[str, str]
    """Numbers as the agent wrote them, by name."""
    reasoning: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    data: tuple[Artifact, ...] = ()
    """Inline data of the consumer, beside those that the science names."""

    @property
    def consumer_data(self) -> tuple[DataFile | Artifact, ...]:
        return (*self.science.data, *self.data)


async def examine_candidate(deps: Deps, request: ExaminationInput) -> ScienceResult:
    """Return the science gate's result. Raises `ExaminationLost` where the platform fails."""
    examination = await run_examination(deps, request)
    reviewed = await _review(deps, request, examination)
    return decide_science_result(request.science, examination, reviewed)


async def run_examination(deps: Deps, request: ExaminationInput) -> Examination:
    """Return what arithmetic finds. Raises `ExaminationLost`."""
    try:
        async with deps.spool.files(request.consumer_data, request.artifacts, request.consumer_id) as files:
            job = ExaminationRequest(
                request.consumer_id, request.science, _domain(deps, request), request.claims, files
            )
            with trace_step("examine raw data", id_attributes(request.attempt_id)):
                return await deps.examiner.examine(job)
    except FileLost as lost:
        fields = {"attempt_id": request.attempt_id, "owner": lost.owner.value}
        _log.critical("raw_data_lost", alarm=True, reason=str(lost), **fields)
        raise ExaminationLost("FileLost") from None
    except SpoolUnavailable as error:
        raise ExaminationLost(f"SpoolUnavailable ({error})") from None


def _domain(deps: Deps, request: ExaminationInput) -> Domain | None:
    return deps.catalog.resolve_domain(request.science.domain, request.domain)


async def _review(deps: Deps, request: ExaminationInput, examination: Examination) -> Reviewed | None:
    if deps.reviewer is None or not needs_review(request.science, examination):
        return None
    files = [ReviewedFile(each.name, DataOwner.CONSUMER) for each in request.consumer_data]
    files += [ReviewedFile(each.name, DataOwner.AGENT) for each in request.artifacts]
    brief = ReviewBrief(
        science=request.science,
        domain=_domain(deps, request),
        claims=request.claims,
        reasoning=request.reasoning,
        output_text=await asyncio.to_thread(render_output_text, request.output),  # it may make megabytes of JSON
        examination=examination,
        files=tuple(files),
    )
    with trace_step("ask reviewer", id_attributes(request.attempt_id)):
        reviewed = await deps.reviewer.review(brief)
        if reviewed.failure is not None:
            failure = reviewed.failure.value
            mark_span_failed(failure)
            _log.warning("review_failed", attempt_id=request.attempt_id, failure=failure, detail=reviewed.detail)
    return reviewed
