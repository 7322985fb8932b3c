"""Examinations in confined workers: raw data are hostile, and are never read in the caller's own process."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

import structlog
from pydantic import ValidationError

from aex_models.domains import Domain
from aex_models.examination import DataProblem, Examination
from aex_models.science import Science
from aex_outcomes.confinement.errors import (
    ConfinementError,
    JobCrashed,
    JobFailed,
    JobOutOfMemory,
    JobTimeout,
)
from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.source import SourceFile
from aex_outcomes.science.unread import (
    CRASHED,
    OUT_OF_MEMORY,
    TIMED_OUT,
    blamed,
    left_to_read,
    starved,
    with_loss,
)

EXAMINE = "aex_outcomes.science.job:examine_candidate"
_log = structlog.get_logger(__name__)

_NO_MEMORY_KINDS = frozenset({"MemoryError", "OutOfMemoryException"})
_NO_MEMORY_WORDS = ("can't start new thread", "bad_alloc", "MemoryError", "Out of Memory", "Failed to allocate")
"""What a worker says where its bound is reached in somebody else's code: in the database, or at a thread's start."""


class Runner(Protocol):
    """Runs a named job in a confined worker: a pool of them, or one for each job."""

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, lane: str = ""
    ) -> dict[str, Any]:
        """See `WorkerPool.run`."""
        ...


class ExaminationLost(RuntimeError):
    """Nothing is known of the claims, through no fault of the candidate.

    The text names the kind alone. `told` is what went wrong in its own words, which may quote data: for whoever owns
    all of them, and for no log of a service.
    """

    def __init__(self, kind: str, told: str = "") -> None:
        super().__init__(kind)
        self.told = told


@dataclasses.dataclass(frozen=True, slots=True)
class ExaminationRequest:
    """Claims, and the raw data that they are held against."""

    lane: str
    """Whose jobs take turns with those of others: a consumer's."""
    science: Science
    domain: Domain | None
    claims: Mapping[str, str]
    """By name: the number as the agent wrote it, or `null`."""
    files: tuple[SourceFile, ...] = ()
    """Raw data, which stay where they are until the examination has ended."""


class ConfinedExaminer:
    """Sends claims and files to a worker.

    Files that no worker can read within its time and memory are left out, the agent's first, and are a problem of the
    examination: the agent's fault where its files were among them, the platform's where the consumer's alone were. So
    are the agent's where the consumer's could not be read beside them. A worker that had no time, as others kept the
    processor busy, is nobody's problem but ours.
    """

    def __init__(self, runner: Runner, limits: DataLimits) -> None:
        self._runner, self._limits = runner, limits

    async def examine(self, request: ExaminationRequest) -> Examination:
        """What arithmetic finds. Raises `ExaminationLost` where no worker comes to an end even without the files."""
        lost: DataProblem | None = None
        while True:
            try:
                found = await self._examined(request)
            except ConfinementError as error:
                code = self._code(error, request)
                if code is None or not request.files:
                    raise ExaminationLost(type(error).__name__, str(error)) from None
            else:
                code = starved(found)
                if code is None or not left_to_read(request.files):
                    return found if lost is None or code else with_loss(found, lost)
            lost, left = blamed(request.files, code), left_to_read(request.files)
            request = dataclasses.replace(request, files=left)
            _log.warning("data_not_read", code=code, fault=lost.fault.value, files_left=len(left))

    async def _examined(self, request: ExaminationRequest) -> Examination:
        """A worker that dies once may have died of anything: it is the data's doing where the next one dies too."""
        try:
            return await self._once(request)
        except JobOutOfMemory:
            raise
        except (JobCrashed, JobFailed) as error:
            if self._code(error, request) is None:
                raise
            return await self._once(request)

    async def _once(self, request: ExaminationRequest) -> Examination:
        answer = await self._runner.run(EXAMINE, examination_payload(request, self._limits), lane=request.lane)
        try:
            return Examination.model_validate(answer["examination"])
        except (ValidationError, KeyError) as error:
            # The answer comes from a process that touched hostile data; its text is not for the log.
            raise ExaminationLost(f"UnreadableAnswer ({type(error).__name__})") from None

    def _code(self, error: ConfinementError, request: ExaminationRequest) -> str | None:
        """What the files have done to a worker; None where it is nothing of theirs."""
        if isinstance(error, JobTimeout):
            allowed = self._limits.cpu_seconds * len({file.owner for file in request.files})
            return TIMED_OUT if error.cpu_seconds is None or error.cpu_seconds >= allowed else None
        if isinstance(error, JobOutOfMemory) or (isinstance(error, JobFailed) and _lacked_memory(error)):
            return OUT_OF_MEMORY
        return CRASHED if isinstance(error, JobCrashed) else None


def examination_payload(request: ExaminationRequest, limits: DataLimits) -> dict[str, Any]:
    """What the worker is sent, as JSON."""
    return {
        "science": request.science.without_secrets().model_dump(mode="json"),
        "domain": request.domain.model_dump(mode="json") if request.domain else None,
        "claimed_values": dict(request.claims),
        "files": [dataclasses.asdict(file) for file in request.files],
        "limits": dataclasses.asdict(limits),
    }


def _lacked_memory(error: JobFailed) -> bool:
    return error.kind in _NO_MEMORY_KINDS or any(words in error.message for words in _NO_MEMORY_WORDS)
