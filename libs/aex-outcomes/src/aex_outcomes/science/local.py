"""Scientific verification without services: each examination starts a confined worker on this machine."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from aex_models.domains import Domain
from aex_models.science import Science, ScienceResult
from aex_outcomes.config import SandboxConfig
from aex_outcomes.json_values import format_claim_texts
from aex_outcomes.science.confined import ConfinedExaminer, DataLimits, ExaminationLost, ExaminationRequest
from aex_outcomes.science.gate import decide_science_result
from aex_outcomes.science.peer_review_port import (
    PeerReviewer,
    ReviewBrief,
    list_reviewed_files,
    needs_review,
    render_output_text,
)
from aex_outcomes.science.source_files import InputFile, stage_temporary_copies

_MAX_RESULT_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CandidateClaims:
    """Claims of a candidate, with its output and the raw data to check them with."""

    output: Any
    values: Mapping[str, float | None]
    """Claimed numbers by name; None for a claim that is no number."""
    reasoning: str | None = None
    files: tuple[InputFile, ...] = ()
    """The consumer's own data, then the candidate's artifacts."""


@dataclass(frozen=True, slots=True)
class LocalScience:
    """Scientific verification without services: examination, peer review if demanded, science gate."""

    bounds: SandboxConfig
    """Time and memory limits of an examination's worker."""
    limits: DataLimits
    reviewer: PeerReviewer | None = None
    """Reviewer for works that demand a peer review; None to make no reviews."""

    async def examine_and_review(
        self, science: Science, domain: Domain | None, claimed: CandidateClaims
    ) -> ScienceResult:
        """Examine the claims in a worker, request a demanded peer review, and return the gate's result.

        Raises `UnusableFile` for an unreadable file, and `ExaminationLost` if the worker fails.
        """
        with ExitStack() as stack:
            copies = stage_temporary_copies(claimed.files, self.limits.max_bytes)
            files = await asyncio.to_thread(stack.enter_context, copies)
            request = ExaminationRequest("", science, domain, format_claim_texts(claimed.values), files)
            try:
                examination = await ConfinedExaminer(_DisposableRunner(self.bounds), self.limits).examine_with_retries(
                    request
                )
            except ExaminationLost as lost:  # with details, because the data are the caller's own
                raise ExaminationLost(f"no worker could examine the claims: {lost.detail or lost}") from None
        if self.reviewer is None or not needs_review(science, examination):
            return decide_science_result(science, examination, None)
        brief = ReviewBrief(
            science=science,
            domain=domain,
            claims=claimed.values,
            reasoning=claimed.reasoning,
            output_text=render_output_text(claimed.output),
            examination=examination,
            files=list_reviewed_files(examination, ((each.name, each.owner) for each in claimed.files)),
        )
        return decide_science_result(science, examination, await self.reviewer.review(brief))


@dataclass(frozen=True, slots=True)
class _DisposableRunner:
    """Runner that starts a new confined worker for every job."""

    bounds: SandboxConfig

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, queue: str = ""
    ) -> dict[str, Any]:
        from aex_outcomes.confinement.pool import WorkerPool  # noqa: PLC0415 needed only for an examination

        limits = self.bounds.timeout_ms / 1_000, self.bounds.memory_limit_mb
        async with WorkerPool(1, *limits, jobs=[job], spares=0, max_result_bytes=_MAX_RESULT_BYTES) as pool:
            return await pool.run(job, payload, timeout_s, queue=queue)
