"""The bounds and the setup of a worker, and the errors that end a job without a result."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Confinement:
    """The bounds of one worker process.

    `memory_mb`: address space on top of what the warm worker uses. `network`: permission to open sockets, for an
    operator's trusted verifier alone. `children`: permission to start processes, which inherit all bounds. It is for
    trusted code and for the sandbox, whose interpreter is a process.
    """

    memory_mb: int = 512
    open_files: int = 64
    nice: int = 5
    network: bool = False
    children: bool = False


@dataclass(frozen=True, slots=True)
class Setup:
    """The first message to a worker: its jobs, the modules to import before them, and its bounds.

    `retire_above_mb`: resident memory above the warm worker's, from which it asks to be replaced.
    """

    jobs: tuple[str, ...]
    warm: tuple[str, ...]
    confinement: Confinement
    retire_above_mb: int

    @classmethod
    def from_json(cls, message: dict[str, Any]) -> "Setup":
        """Read the form that `dataclasses.asdict` wrote."""
        bounds = Confinement(**message["confinement"])
        return cls(tuple(message["jobs"]), tuple(message["warm"]), bounds, message["retire_above_mb"])


class ConfinementError(Exception):
    """The base class of the errors of `WorkerPool.run`."""


class JobTimeout(ConfinementError):
    """A job past its deadline; its worker was killed and replaced.

    `cpu_seconds`: the processor time that it had used, or None where the system does not report it.
    """

    def __init__(self, message: str, cpu_seconds: float | None = None) -> None:
        super().__init__(message)
        self.cpu_seconds = cpu_seconds


class JobCrashed(ConfinementError):
    """A worker that died or sent an invalid answer; it was killed and replaced."""


class JobOutOfMemory(JobCrashed):
    """A job that needed more memory than a worker may use; its worker was replaced."""


class JobFailed(ConfinementError):
    """A job that raised an exception, or returned a value that is not JSON. Its worker continues.

    `kind` names the exception's type. `message` is its text: it may hold evaluation data, so it is never logged.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind
        self.message = message


class PoolBusy(ConfinementError):
    """A full queue; retry later."""


class PoolClosed(ConfinementError):
    """A pool that was closed before the job had a result."""


class WorkersUnavailable(ConfinementError):
    """A pool in which no worker could be started; the message gives the reason."""


class JobNotAllowed(ConfinementError, ValueError):
    """A job name that the pool does not list."""
