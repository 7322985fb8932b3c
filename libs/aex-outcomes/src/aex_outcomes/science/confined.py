"""Examinations in confined workers: raw data are hostile and never read in the caller's own process.

When the files kill a worker, their owner is at fault, and the examination continues without them.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import structlog
from pydantic import ValidationError

from aex_models.contract import MAX_UPLOAD_BYTES
from aex_models.domains import Domain
from aex_models.examination import DataOwner, DataProblem, Examination, Fault
from aex_models.science import Science
from aex_outcomes.confinement.settings import ConfinementError, JobCrashed, JobFailed, JobOutOfMemory, JobTimeout
from aex_outcomes.science.source_files import SourceFile

if TYPE_CHECKING:
    from aex_outcomes.config import SandboxConfig

OUT_OF_MEMORY, TIMED_OUT, CRASHED = "out_of_memory", "timed_out", "crashed"
_WHY = {
    OUT_OF_MEMORY: "Reading the data took more memory than there is for it; send fewer rows or columns",
    TIMED_OUT: "Reading the data took longer than it may; send fewer rows or columns",
    CRASHED: "The data could not be read to an end; send them as plain CSV",
}

_NOT_THERE = frozenset({"artifact_missing", "column_missing"})


def remaining_files(files: Sequence[SourceFile]) -> tuple[SourceFile, ...]:
    """Return the files to read after a lost worker: the consumer's alone, and after those none."""
    own = tuple(file for file in files if file.owner is DataOwner.CONSUMER)
    return own if len(own) < len(files) else ()


def lost_worker_problem(files: Sequence[SourceFile], code: str) -> DataProblem:
    """Return the problem of files that killed a worker; `code` is one of the three above.

    The agent is at fault if any file is the agent's, else the platform.
    """
    agent_files = [file for file in files if file.owner is DataOwner.AGENT]
    suspects = agent_files or files
    return DataProblem(
        code=code,
        message=_WHY[code],
        artifact=suspects[0].name if len(suspects) == 1 else None,
        fault=Fault.AGENT if agent_files else Fault.PLATFORM,
    )


def exhausted_resource(found: Examination) -> str | None:
    """Return the code of a consumer's file that exceeded time or memory; None without one."""
    codes = (each.code for each in found.problems if each.fault is Fault.PLATFORM)
    return next((code for code in codes if code in {OUT_OF_MEMORY, TIMED_OUT}), None)


def add_lost_files(found: Examination, lost: DataProblem) -> Examination:
    """Add the problem of lost files; statistics that only those could serve are lost, not missing."""
    problems = (
        lost.model_copy(update={"name": each.name})
        if each.fault is Fault.AGENT and each.name is not None and each.code in _NOT_THERE
        else each
        for each in found.problems
    )
    return found.model_copy(update={"problems": (lost, *problems)})


_BESIDE_DATA_MB = 384
"""Memory of a worker kept free of data, because a worker that dies reports nothing."""
_READING_SHARE = 1 / 4
"""Share of a worker's time for the files of one owner: both leave half of it, for a busy machine."""


@dataclass(frozen=True, slots=True)
class DataLimits:
    """Limits of one examination; a file beyond a limit is refused with its code.

    Beyond `memory_mb` the database reports `out_of_memory`. A confined worker has 300 MB more, because it dies at its
    own bound. `cpu_seconds` counts processor time, because clock time depends on other load.
    """

    max_bytes: int = MAX_UPLOAD_BYTES
    """Bytes of one file."""
    max_rows: int = 5_000_000
    max_columns: int = 1_000
    max_line: int = 1 << 20
    """Characters of one line of a text file."""
    max_name: int = 300
    """Characters of a column's name."""
    memory_mb: int = 640
    cpu_seconds: float = 30.0
    """Seconds for all files of one owner: the agent's files cannot use up the consumer's share."""

    @classmethod
    def from_worker_bounds(cls, bounds: "SandboxConfig") -> "DataLimits":
        """Return limits below the bounds of a worker, so that reading can report the exceeded one."""
        memory_mb = max(bounds.memory_limit_mb - _BESIDE_DATA_MB, bounds.memory_limit_mb // 2)
        return cls(memory_mb=memory_mb, cpu_seconds=bounds.timeout_ms / 1_000 * _READING_SHARE)


EXAMINE = "aex_outcomes.science.job:examine_candidate"
_log = structlog.get_logger(__name__)

_NO_MEMORY_KINDS = frozenset({"MemoryError", "OutOfMemoryException"})
_NO_MEMORY_WORDS = ("can't start new thread", "bad_alloc", "MemoryError", "Out of Memory", "Failed to allocate")
"""Messages at a worker's bound from the database or from the start of a thread."""


class ExaminationRunner(Protocol):
    """Runner of named jobs in confined workers, as `WorkerPool`: a pool, or one worker for each job."""

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, queue: str = ""
    ) -> dict[str, Any]: ...


class ExaminationLost(RuntimeError):
    """An examination without result, through no fault of the candidate.

    The text is the kind alone. `detail` may quote data: only their owner may read it, and no service may log it.
    """

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(kind)
        self.detail = detail


@dataclasses.dataclass(frozen=True, slots=True)
class ExaminationRequest:
    """Claims and the raw data that they are compared with."""

    queue: str
    """Consumer whose jobs alternate with those of others."""
    science: Science
    domain: Domain | None
    claims: Mapping[str, str]
    """Number as the agent wrote it, or `null`, by name."""
    files: tuple[SourceFile, ...] = ()
    """Raw data, which must not move until the examination ends."""


class ConfinedExaminer:
    """Examiner that sends claims and files to a worker.

    Files that no worker can read within its time and memory are left out, the agent's first. They are a problem of the
    examination: the agent's fault where the agent's files were among them, else the platform's. If the consumer's files
    cannot be read beside the agent's, the agent is at fault. A worker without processor time is the platform's problem.
    """

    def __init__(self, runner: ExaminationRunner, limits: DataLimits) -> None:
        self._runner, self._limits = runner, limits

    async def examine(self, request: ExaminationRequest) -> Examination:
        """Return the examination. Raises `ExaminationLost` if workers fail even without files."""
        lost: DataProblem | None = None
        while True:
            try:
                found = await self._examine_with_retry(request)
            except ConfinementError as error:
                code = self._loss_code(error, request)
                if code is None or not request.files:
                    raise ExaminationLost(type(error).__name__, str(error)) from None
            else:
                code = exhausted_resource(found)
                if code is None or not remaining_files(request.files):
                    return found if lost is None or code else add_lost_files(found, lost)
            lost, left = lost_worker_problem(request.files, code), remaining_files(request.files)
            request = dataclasses.replace(request, files=left)
            _log.warning("raw_data_read_failed", code=code, fault=lost.fault.value, files_left=len(left))

    async def _examine_with_retry(self, request: ExaminationRequest) -> Examination:
        """Retry once after a crash: only a second crash is attributed to the data."""
        try:
            return await self._run(request)
        except JobOutOfMemory:
            raise
        except (JobCrashed, JobFailed) as error:
            if self._loss_code(error, request) is None:
                raise
            return await self._run(request)

    async def _run(self, request: ExaminationRequest) -> Examination:
        answer = await self._runner.run(EXAMINE, examination_payload(request, self._limits), queue=request.queue)
        try:
            return Examination.model_validate(answer["examination"])
        except (ValidationError, KeyError) as error:
            # The response comes from a process that read hostile data; its text must not be logged.
            raise ExaminationLost(f"UnreadableAnswer ({type(error).__name__})") from None

    def _loss_code(self, error: ConfinementError, request: ExaminationRequest) -> str | None:
        """Return the effect of the files on a worker; None for an unrelated error."""
        if isinstance(error, JobTimeout):
            allowed = self._limits.cpu_seconds * len({file.owner for file in request.files})
            return TIMED_OUT if error.cpu_seconds is None or error.cpu_seconds >= allowed else None
        if isinstance(error, JobOutOfMemory) or (
            isinstance(error, JobFailed)
            and (error.kind in _NO_MEMORY_KINDS or any(words in error.message for words in _NO_MEMORY_WORDS))
        ):
            return OUT_OF_MEMORY
        return CRASHED if isinstance(error, JobCrashed) else None


def examination_payload(request: ExaminationRequest, limits: DataLimits) -> dict[str, Any]:
    """Return the job's payload as JSON."""
    return {
        "science": request.science.without_secrets().model_dump(mode="json"),
        "domain": request.domain.model_dump(mode="json") if request.domain else None,
        "claimed_values": dict(request.claims),
        "files": [dataclasses.asdict(file) for file in request.files],
        "limits": dataclasses.asdict(limits),
    }
