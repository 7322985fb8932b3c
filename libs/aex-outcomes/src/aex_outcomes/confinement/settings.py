"""Settings of a worker, and the errors of a worker pool."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Confinement:
    """Limits of one worker process."""

    memory_mb: int = 512
    """Megabytes of address space beyond what the worker uses before its first job."""
    open_files: int = 64
    nice: int = 5
    network: bool = False
    """Permission to open sockets; only for an operator's trusted verifier."""
    children: bool = False
    """Permission to start processes, which inherit all limits; for trusted code and for the sandbox's interpreter."""
    files: bool = True
    """Permission to open files for reading and to look for them; jobs with all modules imported need none."""
    cpu_seconds: int | None = None
    """Processor time of the whole worker, after which the system ends it; None for no limit."""


@dataclass(frozen=True, slots=True)
class Setup:
    """First message to a worker, with its jobs and limits."""

    jobs: tuple[str, ...]
    """Names of the functions that may run ("module:function")."""
    warm: tuple[str, ...]
    """Further modules to import before the first job."""
    confinement: Confinement
    retire_above_mb: int
    """Growth of resident memory after which the worker asks to be replaced."""

    @classmethod
    def from_json(cls, message: dict[str, Any]) -> "Setup":
        """Build a `Setup` from the JSON of its dict, as `dataclasses.asdict` makes it."""
        bounds = Confinement(**message["confinement"])
        return cls(tuple(message["jobs"]), tuple(message["warm"]), bounds, message["retire_above_mb"])


class ConfinementError(Exception):
    """Base class of the errors of a worker pool."""


class JobTimeout(ConfinementError):
    """Error of a job past its deadline; its worker was killed and replaced.

    `cpu_seconds`: processor time that the job had used; None if the system does not report it.
    """

    def __init__(self, message: str, cpu_seconds: float | None = None) -> None:
        super().__init__(message)
        self.cpu_seconds = cpu_seconds


class JobCrashed(ConfinementError):
    """Error of a job whose worker died or sent an invalid answer; the worker was killed and replaced.

    `exit_status`: exit status of a worker that died, negative for a signal; None after an invalid answer.
    """

    def __init__(self, message: str, exit_status: int | None = None) -> None:
        super().__init__(message)
        self.exit_status = exit_status


class JobOutOfMemory(JobCrashed):
    """Error of a job that needed more memory than a worker may use; its worker was replaced."""


class JobFailed(ConfinementError):
    """Error of a job that raised an exception or returned a value that is not JSON; its worker continues.

    `kind` is the exception's type. `message` is its text, which may contain evaluation data and must not be logged.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind
        self.message = message


class PoolBusy(ConfinementError):
    """Error of a job that was not accepted because the pool's queue is full; retry later."""


class PoolClosed(ConfinementError):
    """Error of a job whose pool was closed before it had a result."""


class WorkersUnavailable(ConfinementError):
    """Error of a pool of which a worker could not be started; the message gives the reason."""


class JobNotAllowed(ConfinementError, ValueError):
    """Error for the name of a job that the pool does not list."""
