"""A sandbox for everyone: a confined worker of its own for every run, and its interpreter in it."""

import dataclasses
from typing import Any

from aex_outcomes.sandbox.port import CodeFault, Context, FaultKind, Limits, Returned, SandboxUnavailable

MEMORY_MB = 320
"""What a worker has beside the code's own memory: room for the interpreter itself, and for reading what it sends."""

_GRACE_S = 10.0
"""For the start of the interpreter, a second attempt after a crash, and big inputs."""


class DisposableSandbox:
    """Starts a worker, runs the code in it once, and ends it: some tenths of a second, and nothing left behind.

    For a laptop and for whoever judges a few candidates. A service keeps a pool of workers that stay warm.
    """

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        """See `Sandbox`."""
        from aex_outcomes.confinement.errors import (  # noqa: PLC0415 the pool is for those who run custom code
            ConfinementError,
            JobFailed,
            JobOutOfMemory,
            JobTimeout,
        )
        from aex_outcomes.confinement.pool import WorkerPool  # noqa: PLC0415

        job = "aex_outcomes.sandbox.job:run_code"
        payload = {"code": _plain(code), "context": context.as_json(), "limits": dataclasses.asdict(limits)}
        timeout_s = 2 * limits.timeout_ms / 1000 + _GRACE_S
        pool = WorkerPool(1, timeout_s, limits.memory_mb + MEMORY_MB, jobs=[job], spares=0, children=True)
        try:
            async with pool:
                answer = await pool.run(job, payload)
        except JobTimeout:
            raise CodeFault(FaultKind.TIMEOUT, "killed past its time") from None
        except JobOutOfMemory:
            raise CodeFault(FaultKind.MEMORY, "the worker ran out of memory") from None
        except JobFailed as error:
            raise SandboxUnavailable(error.message) from None
        except ConfinementError as error:
            raise SandboxUnavailable(str(error)) from None
        return _read(answer)


def _read(answer: dict[str, Any]) -> Returned:
    fault = answer.get("fault")
    if fault is not None:
        raise CodeFault(FaultKind(fault["kind"]), fault["message"], fault["line"])
    return Returned(answer["value"], answer["metrics"])


def _plain(code: str) -> str:
    """Code that UTF-8 holds; a lone surrogate in it becomes a character that no code has outside its texts."""
    return code.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
