"""The science behind a candidate: claims held against raw data, a reviewer asked, and the gate's conclusion."""

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
from aex_outcomes.science.gate import conclude
from aex_outcomes.science.review.asking import output_text, wants_review
from aex_outcomes.science.review.port import ReviewBrief, Reviewed, ReviewedFile
from aex_runtime.telemetry import failed, step
from aex_runtime.tracing.subjects import about
from aex_verification.deps import Deps
from aex_verification.spool import FileLost, SpoolUnavailable

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Exhibit:
    """What is examined: a candidate, and the science that its work demands."""

    consumer_id: str
    attempt_id: str
    science: Science
    """Whole: with the consumer's secrets."""
    domain: str | None
    """The work's, for where its science names none."""
    output: Any
    claims: Mapping[str, str]
    """By name: the number as the agent wrote it."""
    reasoning: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    data: tuple[Artifact, ...] = ()
    """The consumer's own, inline, beside those that the science names."""

    @property
    def own_data(self) -> tuple[DataFile | Artifact, ...]:
        """All of the consumer's."""
        return (*self.science.data, *self.data)


async def examine_candidate(deps: Deps, exhibit: Exhibit) -> ScienceResult:
    """What the science gate concludes. Raises `ExaminationLost` where the platform could not tell."""
    examination = await examined(deps, exhibit)
    reviewed = await _reviewed(deps, exhibit, examination)
    return conclude(exhibit.science, examination, reviewed)


async def examined(deps: Deps, exhibit: Exhibit) -> Examination:
    """What arithmetic finds. Raises `ExaminationLost`."""
    try:
        async with deps.spool.files(exhibit.own_data, exhibit.artifacts) as files:
            request = ExaminationRequest(
                exhibit.consumer_id, exhibit.science, _domain(deps, exhibit), exhibit.claims, files
            )
            with step("examine raw data", about(exhibit.attempt_id)):
                return await deps.examiner.examine(request)
    except FileLost as lost:
        named = {"attempt_id": exhibit.attempt_id, "owner": lost.owner.value}
        log.critical("raw_data_lost", alarm=True, reason=str(lost), **named)
        raise ExaminationLost("FileLost") from None
    except SpoolUnavailable as error:
        raise ExaminationLost(f"SpoolUnavailable ({error})") from None


def _domain(deps: Deps, exhibit: Exhibit) -> Domain | None:
    return deps.catalog.domain_of(exhibit.science.domain, exhibit.domain)


async def _reviewed(deps: Deps, exhibit: Exhibit, found: Examination) -> Reviewed | None:
    """What the reviewer says. None where nobody is asked."""
    if deps.reviewer is None or not wants_review(exhibit.science, found):
        return None
    brief = ReviewBrief(
        science=exhibit.science,
        domain=_domain(deps, exhibit),
        claims=exhibit.claims,
        reasoning=exhibit.reasoning,
        output_text=await asyncio.to_thread(output_text, exhibit.output),  # megabytes of JSON may be made for it
        examination=found,
        files=_reviewed_files(exhibit),
    )
    with step("ask reviewer", about(exhibit.attempt_id)):
        reviewed = await deps.reviewer.review(brief)
        if reviewed.failure is not None:
            failed(reviewed.failure.value)
    if reviewed.failure is not None:
        log.warning(
            "review_failed", attempt_id=exhibit.attempt_id, failure=reviewed.failure.value, detail=reviewed.detail
        )
    return reviewed


def _reviewed_files(exhibit: Exhibit) -> tuple[ReviewedFile, ...]:
    data = [ReviewedFile(each.name, DataOwner.CONSUMER) for each in exhibit.own_data]
    return (*data, *(ReviewedFile(each.name, DataOwner.AGENT) for each in exhibit.artifacts))
