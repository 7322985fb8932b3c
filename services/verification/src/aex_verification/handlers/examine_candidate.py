"""Science gate of a candidate: its claims are compared with raw data and, if demanded, peer-reviewed."""

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
from aex_outcomes.science.peer_review_port import (
    ReviewBrief,
    Reviewed,
    list_reviewed_files,
    needs_review,
    render_output_text,
)
from aex_runtime.telemetry import mark_span_failed, trace_step
from aex_runtime.tracing.spans import build_span_attributes_of_ids
from aex_verification.deps import Deps
from aex_verification.spool import FileLost, SpoolUnavailable

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ExaminationInput:
    """Candidate to examine, with the science that its work demands."""

    consumer_id: str
    attempt_id: str
    science: Science
    """Science of the work, with the consumer's secrets."""
    domain: str | None
    """Domain of the work, used if the science names none."""
    output: Any
    claims: Mapping[str, str]
    """Claimed numbers by name, as the agent wrote them."""
    reasoning: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    data: tuple[Artifact, ...] = ()
    """Inline data of the consumer, in addition to files that the science names."""

    @property
    def consumer_data(self) -> tuple[DataFile | Artifact, ...]:
        """Return all files of the consumer: those that the science names, then inline data."""
        return (*self.science.data, *self.data)


async def examine_candidate(deps: Deps, request: ExaminationInput) -> ScienceResult:
    """Return the science gate's result, with a peer review if the science demands one.

    Raises `ExaminationLost` if the platform fails.
    """
    examination = await examine_without_review(deps, request)
    reviewed = await _review(deps, request, examination)
    return decide_science_result(request.science, examination, reviewed)


async def examine_without_review(deps: Deps, request: ExaminationInput) -> Examination:
    """Compare the candidate's claims with the raw data in a confined worker, without a peer review.

    Raises `ExaminationLost` if the platform fails; lost files are logged with an alarm.
    """
    try:
        async with deps.spool.write_temporary_files(
            request.consumer_data, request.artifacts, request.consumer_id
        ) as files:
            job = ExaminationRequest(
                request.consumer_id, request.science, _domain(deps, request), request.claims, files
            )
            with trace_step("examine raw data", build_span_attributes_of_ids(request.attempt_id)):
                return await deps.examiner.examine_with_retries(job)
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
    files = [(each.name, DataOwner.CONSUMER) for each in request.consumer_data]
    files += [(each.name, DataOwner.AGENT) for each in request.artifacts]
    brief = ReviewBrief(
        science=request.science,
        domain=_domain(deps, request),
        claims=request.claims,
        reasoning=request.reasoning,
        output_text=await asyncio.to_thread(render_output_text, request.output),  # it may make megabytes of JSON
        examination=examination,
        files=list_reviewed_files(examination, files),
    )
    with trace_step("ask reviewer", build_span_attributes_of_ids(request.attempt_id)):
        reviewed = await deps.reviewer.review(brief)
        if reviewed.failure is not None:
            failure = reviewed.failure.value
            mark_span_failed(failure)
            _log.warning("review_failed", attempt_id=request.attempt_id, failure=failure, detail=reviewed.detail)
    return reviewed
