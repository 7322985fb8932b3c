"""Scientific verification on one machine: no service and no store, a confined worker for each examination."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from aex_models.domains import Domain
from aex_models.examination import Examination
from aex_models.science import Science, ScienceResult
from aex_outcomes.claim_texts import claim_texts
from aex_outcomes.config import SandboxConfig
from aex_outcomes.science.confined import ConfinedExaminer, ExaminationLost, ExaminationRequest
from aex_outcomes.science.gate import conclude
from aex_outcomes.science.given_files import GivenFile, staged
from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.review.asking import output_text, wants_review
from aex_outcomes.science.review.port import PeerReviewer, ReviewBrief, Reviewed, ReviewedFile

_MAX_RESULT_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Claimed:
    """What is examined of a candidate."""

    output: Any
    values: Mapping[str, float | None]
    reasoning: str | None = None
    files: tuple[GivenFile, ...] = ()
    """The consumer's own data, then the candidate's artifacts."""


@dataclass(frozen=True, slots=True)
class LocalScience:
    """Examines claims, asks the reviewer where there is one, and has the gate conclude."""

    bounds: SandboxConfig
    """What an examination may take."""
    limits: DataLimits
    reviewer: PeerReviewer | None = None

    async def concluded(self, science: Science, domain: Domain | None, claimed: Claimed) -> ScienceResult:
        """The gate's word. Raises `UnusableFile` for what cannot be opened here, and `ExaminationLost`."""
        with ExitStack() as stack:
            copies = staged(claimed.files, self.limits.max_bytes)
            files = await asyncio.to_thread(stack.enter_context, copies)
            request = ExaminationRequest("", science, domain, claim_texts(claimed.values), files)
            examination = await self._examined(request)
        return conclude(science, examination, await self._reviewed(science, domain, claimed, examination))

    async def _examined(self, request: ExaminationRequest) -> Examination:
        try:
            return await ConfinedExaminer(_WorkerForEach(self.bounds), self.limits).examine(request)
        except ExaminationLost as lost:  # in its own words: the data are the caller's own
            raise ExaminationLost(f"no worker could examine the claims: {lost.told or lost}") from None

    async def _reviewed(
        self, science: Science, domain: Domain | None, claimed: Claimed, examination: Examination
    ) -> Reviewed | None:
        if self.reviewer is None or not wants_review(science, examination):
            return None
        brief = ReviewBrief(
            science=science,
            domain=domain,
            claims=claimed.values,
            reasoning=claimed.reasoning,
            output_text=output_text(claimed.output),
            examination=examination,
            files=tuple(ReviewedFile(each.name, each.owner) for each in claimed.files),
        )
        return await self.reviewer.review(brief)


class _WorkerForEach:
    """A confined worker of its own for every job, and nothing left behind."""

    def __init__(self, bounds: SandboxConfig) -> None:
        self._bounds = bounds

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, lane: str = ""
    ) -> dict[str, Any]:
        """See `WorkerPool.run`."""
        from aex_outcomes.confinement.pool import WorkerPool  # noqa: PLC0415 for those who examine something

        most_s, memory_mb = self._bounds.timeout_ms / 1_000, self._bounds.memory_limit_mb
        async with WorkerPool(1, most_s, memory_mb, jobs=[job], spares=0, max_result_bytes=_MAX_RESULT_BYTES) as pool:
            return await pool.run(job, payload, timeout_s, lane=lane)
