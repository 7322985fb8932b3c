"""Scientific verification on one machine: no service and no store, a confined worker for each examination."""

import asyncio
import dataclasses
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import structlog

from aex_models.domains import Domain
from aex_models.faults import Fault
from aex_models.numbers import text_of
from aex_models.science import (
    PEER_REVIEW,
    DataOwner,
    DataProblem,
    Examination,
    Science,
    ScienceResult,
)
from aex_outcomes.config import SandboxConfig
from aex_outcomes.science.gate import conclude
from aex_outcomes.science.given_files import GivenFile, staged
from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.review.port import PeerReviewer, ReviewBrief, Reviewed, ReviewedFile
from aex_outcomes.science.source import SourceFile

JOB = "aex_outcomes.science.job:examine_candidate"
_MAX_RESULT_BYTES = 16 * 1024 * 1024
_log = structlog.get_logger(__name__)


class ExaminationLost(RuntimeError):
    """No worker could examine the claims, with the data or without: nothing is known of them."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """What is examined of a candidate."""

    output: Any
    values: Mapping[str, float]
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
            examination = await self._examined(science, domain, claimed, files)
        return conclude(science, examination, await self._reviewed(science, domain, claimed, examination))

    async def _examined(
        self, science: Science, domain: Domain | None, claimed: Claimed, files: Sequence[SourceFile]
    ) -> Examination:
        """Files that no worker can read within its bounds are left out, the candidate's first, and are a problem."""
        payload = {
            "science": science.without_secrets().model_dump(mode="json"),
            "domain": domain.model_dump(mode="json") if domain else None,
            "claimed_values": {name: text_of(value) for name, value in claimed.values.items()},
            "limits": dataclasses.asdict(self.limits),
        }
        problems: tuple[DataProblem, ...] = ()
        while True:
            found = await self._tried({**payload, "files": [dataclasses.asdict(each) for each in files]})
            if isinstance(found, Examination):
                return found.model_copy(update={"problems": (*problems, *found.problems)})
            if not files:
                raise ExaminationLost(f"no worker could examine the claims: {found}")
            problems, files = (_blamed(files, found),), _without(files)
            _log.warning("data_not_read", code=problems[0].code, files_left=len(files))

    async def _tried(self, payload: dict[str, Any]) -> Examination | str:
        """What a worker of its own finds; the code of a problem where it does not outlive the data."""
        from aex_outcomes.confinement.errors import (  # noqa: PLC0415 the pool is for those who examine something
            ConfinementError,
            JobCrashed,
            JobOutOfMemory,
            JobTimeout,
        )
        from aex_outcomes.confinement.pool import WorkerPool  # noqa: PLC0415

        timeout_s, memory_mb = self.bounds.timeout_ms / 1_000, self.bounds.memory_limit_mb
        pool = WorkerPool(1, timeout_s, memory_mb, jobs=[JOB], spares=0, max_result_bytes=_MAX_RESULT_BYTES)
        try:
            async with pool:
                answer = await pool.run(JOB, payload)
        except JobTimeout:
            return "timed_out"
        except JobOutOfMemory:
            return "out_of_memory"
        except JobCrashed:
            return "crashed"
        except ConfinementError as error:
            raise ExaminationLost(f"the worker broke down: {type(error).__name__}: {error}") from None
        return Examination.model_validate(answer["examination"])

    async def _reviewed(
        self, science: Science, domain: Domain | None, claimed: Claimed, examination: Examination
    ) -> Reviewed | None:
        if self.reviewer is None or PEER_REVIEW not in science.checks:
            return None
        if any(each.fault is Fault.PLATFORM for each in examination.problems):
            return None  # there is no verdict without the data, whatever a reader thinks
        output = claimed.output
        brief = ReviewBrief(
            science=science,
            domain=domain,
            claims=claimed.values,
            reasoning=claimed.reasoning,
            output_text=output if isinstance(output, str) else json.dumps(output, ensure_ascii=False),
            examination=examination,
            files=tuple(ReviewedFile(each.name, each.owner) for each in claimed.files),
        )
        return await self.reviewer.review(brief)


def _without(files: Sequence[SourceFile]) -> tuple[SourceFile, ...]:
    """The files that are tried next: the consumer's alone, and after those none."""
    own = tuple(each for each in files if each.owner is DataOwner.CONSUMER)
    return own if len(own) < len(files) else ()


_WHY = {
    "timed_out": "reading the data took longer than it may; give fewer rows or columns",
    "out_of_memory": "reading the data took more memory than there is for it; give fewer rows or columns",
    "crashed": "the data could not be read to an end; give them as plain CSV",
}


def _blamed(files: Sequence[SourceFile], code: str) -> DataProblem:
    """The candidate's files are to blame where there are any; else the consumer's, which is not the agent's fault."""
    theirs = [each for each in files if each.owner is DataOwner.AGENT]
    suspects = theirs or files
    return DataProblem(
        code=code,
        message=_WHY[code],
        artifact=suspects[0].name if len(suspects) == 1 else None,
        fault=Fault.AGENT if theirs else Fault.PLATFORM,
    )
