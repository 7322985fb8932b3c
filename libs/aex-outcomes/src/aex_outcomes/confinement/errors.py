"""How a job can end without a result."""


class ConfinementError(Exception):
    """The base of everything that `WorkerPool.run` raises of itself."""


class JobTimeout(ConfinementError):
    """The job ran past its deadline; its worker was killed and replaced.

    `cpu_seconds`: what it had used of the processor by then, less where others kept it busy; None: the system does not
    tell.
    """

    def __init__(self, message: str, cpu_seconds: float | None = None) -> None:
        super().__init__(message)
        self.cpu_seconds = cpu_seconds


class JobCrashed(ConfinementError):
    """The worker died, or answered what no honest worker answers; it was killed and replaced."""


class JobOutOfMemory(JobCrashed):
    """The job asked for more memory than a worker may use; its worker was replaced."""


class JobFailed(ConfinementError):
    """The job raised an exception, or returned what is not JSON. Its worker lives on.

    `kind` names the exception's type. `message` is its text: it may hold evaluation data, so it is never logged.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind
        self.message = message


class PoolBusy(ConfinementError):
    """As many jobs wait as the queue holds; try again later."""


class PoolClosed(ConfinementError):
    """The pool was closed before the job had a result."""


class WorkersUnavailable(ConfinementError):
    """No worker could be started; the message says why."""


class JobNotAllowed(ConfinementError, ValueError):
    """The job's name is not on the list that the pool was made with."""
