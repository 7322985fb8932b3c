"""Examinations in confined workers: raw data are hostile, and are never read in the service itself."""

import dataclasses
from typing import Any

from pydantic import ValidationError

from aex_models.science import DataProblem, Examination
from aex_outcomes.confinement.errors import ConfinementError, JobCrashed, JobOutOfMemory, JobTimeout
from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.source import SourceFile
from aex_outcomes.science.unread import CRASHED, OUT_OF_MEMORY, TIMED_OUT, blamed, left_to_read
from aex_verification.judge import Runner
from aex_verification.ports import ExaminationLost, ExaminationRequest

EXAMINE = "aex_outcomes.science.job:examine_candidate"
Files = tuple[SourceFile, ...]


class ConfinedExaminer:
    """Sends each candidate's claims and files to a worker; one lane for each consumer.

    Files that no worker can read within its time and memory are left out, the agent's first, and are a problem of the
    examination: the agent's fault where its files were among them, the platform's where the consumer's alone were.
    """

    def __init__(self, pool: Runner, limits: DataLimits) -> None:
        self._pool, self._limits = pool, limits

    async def examine(self, request: ExaminationRequest) -> Examination:
        """See `Examiner`."""
        files: Files = request.files
        problem: DataProblem | None = None
        while True:
            try:
                found = await self._examined(request, files)
            except (JobTimeout, JobCrashed) as error:
                if not files:
                    raise ExaminationLost(type(error).__name__) from None
                problem, files = blamed(files, _code(error)), left_to_read(files)
            except ConfinementError as error:
                raise ExaminationLost(type(error).__name__) from None
            else:
                return found if problem is None else found.model_copy(update={"problems": (problem, *found.problems)})

    async def _examined(self, request: ExaminationRequest, files: Files) -> Examination:
        """A worker that dies once may have died of anything: it is the data's doing where the next one dies too."""
        try:
            return await self._once(request, files)
        except JobOutOfMemory:
            raise
        except JobCrashed:
            return await self._once(request, files)

    async def _once(self, request: ExaminationRequest, files: Files) -> Examination:
        answer = await self._pool.run(EXAMINE, job_payload(request, files, self._limits), lane=request.consumer_id)
        try:
            return Examination.model_validate(answer["examination"])
        except (ValidationError, KeyError) as error:
            # The answer comes from a process that touched hostile data; its text is not for the log.
            raise ExaminationLost(f"UnreadableAnswer ({type(error).__name__})") from None


def job_payload(request: ExaminationRequest, files: Files, limits: DataLimits) -> dict[str, Any]:
    """What the worker is sent, as JSON."""
    return {
        "science": request.science.without_secrets().model_dump(mode="json"),
        "domain": request.domain.model_dump(mode="json") if request.domain else None,
        "claimed_values": dict(request.claims),
        "files": [dataclasses.asdict(file) for file in files],
        "limits": dataclasses.asdict(limits),
    }


def _code(error: JobTimeout | JobCrashed) -> str:
    if isinstance(error, JobTimeout):
        return TIMED_OUT
    return OUT_OF_MEMORY if isinstance(error, JobOutOfMemory) else CRASHED
