"""Examinations in confined workers: raw data may be hostile, and the caller never reads them.

Files that kill a worker are left out, and the examination is repeated without them. Their owner is at fault.
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
    """Return the files to examine next, after an examination of `files` has killed its worker.

    They are the consumer's files if some of `files` are the agent's, else none.
    """
    consumer_files = tuple(file for file in files if file.owner is DataOwner.CONSUMER)
    return consumer_files if len(consumer_files) < len(files) else ()


def build_worker_loss_problem(files: Sequence[SourceFile], code: str) -> DataProblem:
    """Return the problem that attributes a killed worker to the files it read.

    `code`: `OUT_OF_MEMORY`, `TIMED_OUT` or `CRASHED`. The agent is at fault if any file is the agent's, else the
    platform. `artifact` is set if only one file can be the cause.
    """
    agent_files = [file for file in files if file.owner is DataOwner.AGENT]
    suspects = agent_files or files
    return DataProblem(
        code=code,
        message=_WHY[code],
        artifact=suspects[0].name if len(suspects) == 1 else None,
        fault=Fault.AGENT if agent_files else Fault.PLATFORM,
    )


def find_limit_exceeded_by_consumer_file(examination: Examination) -> str | None:
    """Return `OUT_OF_MEMORY` or `TIMED_OUT` if reading a consumer's file exceeded that limit, else None."""
    codes = (each.code for each in examination.problems if each.fault is Fault.PLATFORM)
    return next((code for code in codes if code in {OUT_OF_MEMORY, TIMED_OUT}), None)


def add_worker_loss(examination: Examination, loss: DataProblem) -> Examination:
    """Add the problem of the files that killed a worker to the examination made without them.

    It also replaces the agent's problems of missing files and columns: the left-out files may have had them.
    """
    problems = (
        loss.model_copy(update={"name": each.name})
        if each.fault is Fault.AGENT and each.name is not None and each.code in _NOT_THERE
        else each
        for each in examination.problems
    )
    return examination.model_copy(update={"problems": (loss, *problems)})


_BESIDE_DATA_MB = 384
"""MB of a worker's memory that data may not use, because a worker killed at its bound reports nothing."""
_READING_SHARE = 1 / 4
"""Share of a worker's time for the files of one owner. The files of both leave half of it for a busy machine."""


@dataclass(frozen=True, slots=True)
class DataLimits:
    """Limits of the files of one examination; a file beyond a limit is refused with an error code.

    Beyond `memory_mb` the database reports `out_of_memory`. A confined worker has 300 MB more, because it dies at its
    own bound.
    """

    max_bytes: int = MAX_UPLOAD_BYTES
    """Bytes of one file."""
    max_rows: int = 5_000_000
    """Rows of one file."""
    max_columns: int = 1_000
    """Columns of one file."""
    max_line: int = 1 << 20
    """Characters of one line of a text file."""
    max_name: int = 300
    """Characters of a column's name."""
    memory_mb: int = 640
    """MB of the database that a file is read into."""
    cpu_seconds: float = 30.0
    """Processor time for all files of one owner: the agent's files cannot use up the time for the consumer's."""

    @classmethod
    def from_worker_bounds(cls, bounds: "SandboxConfig") -> "DataLimits":
        """Return limits so far below a worker's bounds that an excess is reported before the worker dies."""
        memory_mb = max(bounds.memory_limit_mb - _BESIDE_DATA_MB, bounds.memory_limit_mb // 2)
        return cls(memory_mb=memory_mb, cpu_seconds=bounds.timeout_ms / 1_000 * _READING_SHARE)


EXAMINE = "aex_outcomes.science.job:examine_candidate"
_log = structlog.get_logger(__name__)

_NO_MEMORY_KINDS = frozenset({"MemoryError", "OutOfMemoryException"})
_NO_MEMORY_WORDS = ("can't start new thread", "bad_alloc", "MemoryError", "Out of Memory", "Failed to allocate")
"""Parts of error messages that mean a worker has no memory left, from the database or the start of a thread."""


class ExaminationRunner(Protocol):
    """Runner of jobs in confined workers, such as `WorkerPool`."""

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, queue: str = ""
    ) -> dict[str, Any]:
        """Run the function `module:function` named by `job` on the payload in a worker and return its result.

        `timeout_s`: seconds, by default the runner's own limit. `queue`: jobs of different queues alternate. Raises
        `ConfinementError` if the worker fails or dies.
        """
        ...


class ExaminationLost(RuntimeError):
    """Failure to examine a candidate, through no fault of the candidate.

    The message is only the kind of failure. `detail` may quote raw data: only the data's owner may read it, and no
    service may log it.
    """

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(kind)
        self.detail = detail


@dataclasses.dataclass(frozen=True, slots=True)
class ExaminationRequest:
    """Claims of a candidate, and the raw data to compare them with."""

    queue: str
    """Id of the consumer: the jobs of different consumers alternate."""
    science: Science
    domain: Domain | None
    claims: Mapping[str, str]
    """Each claimed number by its name, as the agent wrote it; `null` for a claim that is no number."""
    files: tuple[SourceFile, ...] = ()
    """Raw data; the files must stay at their paths until the examination ends."""


class ConfinedExaminer:
    """Examiner that runs each examination in a confined worker.

    Files that kill a worker or exceed its time or memory are left out: first the agent's, then the consumer's. The
    examination reports this as a problem. The agent is at fault if its files were among them, else the platform.
    """

    def __init__(self, runner: ExaminationRunner, limits: DataLimits) -> None:
        self._runner, self._limits = runner, limits

    async def examine_with_retries(self, request: ExaminationRequest) -> Examination:
        """Examine the claims, and repeat without the agent's files, then without any, if files kill workers.

        Raises `ExaminationLost` if a worker fails without files or by a cause other than its files.
        """
        lost: DataProblem | None = None
        while True:
            try:
                found = await self._examine_with_retry(request)
            except ConfinementError as error:
                code = self._loss_code(error, request)
                if code is None or not request.files:
                    raise ExaminationLost(type(error).__name__, str(error)) from None
            else:
                code = find_limit_exceeded_by_consumer_file(found)
                if code is None or not remaining_files(request.files):
                    return found if lost is None or code else add_worker_loss(found, lost)
            lost, left = build_worker_loss_problem(request.files, code), remaining_files(request.files)
            request = dataclasses.replace(request, files=left)
            _log.warning("raw_data_read_failed", code=code, fault=lost.fault.value, files_left=len(left))

    async def _examine_with_retry(self, request: ExaminationRequest) -> Examination:
        """Run the examination, and once more after a crash: only a second crash is attributed to the files.

        Running out of memory or time is not retried.
        """
        try:
            return await self._run(request)
        except JobOutOfMemory:
            raise
        except (JobCrashed, JobFailed) as error:
            if self._loss_code(error, request) is None:
                raise
            return await self._run(request)

    async def _run(self, request: ExaminationRequest) -> Examination:
        answer = await self._runner.run(EXAMINE, build_examination_payload(request, self._limits), queue=request.queue)
        try:
            return Examination.model_validate(answer["examination"])
        except (ValidationError, KeyError) as error:
            # The response comes from a process that read hostile data; its text must not be logged.
            raise ExaminationLost(f"UnreadableAnswer ({type(error).__name__})") from None

    def _loss_code(self, error: ConfinementError, request: ExaminationRequest) -> str | None:
        """Return `TIMED_OUT`, `OUT_OF_MEMORY` or `CRASHED` if the files caused the error, else None.

        A time-out before the worker used the processor time of its files is not theirs.
        """
        if isinstance(error, JobTimeout):
            allowed = self._limits.cpu_seconds * len({file.owner for file in request.files})
            return TIMED_OUT if error.cpu_seconds is None or error.cpu_seconds >= allowed else None
        if isinstance(error, JobOutOfMemory) or (
            isinstance(error, JobFailed)
            and (error.kind in _NO_MEMORY_KINDS or any(words in error.message for words in _NO_MEMORY_WORDS))
        ):
            return OUT_OF_MEMORY
        return CRASHED if isinstance(error, JobCrashed) else None


def build_examination_payload(request: ExaminationRequest, limits: DataLimits) -> dict[str, Any]:
    """Return the payload of the job `examine_candidate` as JSON values, without the work's secrets."""
    return {
        "science": request.science.without_secrets().model_dump(mode="json"),
        "domain": request.domain.model_dump(mode="json") if request.domain else None,
        "claimed_values": dict(request.claims),
        "files": [dataclasses.asdict(file) for file in request.files],
        "limits": dataclasses.asdict(limits),
    }
