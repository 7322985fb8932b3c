"""Jobs of a worker with a sandbox (a run of code, a self-test), and a sandbox for few runs."""

import dataclasses
from functools import lru_cache
from typing import Any

from aex_outcomes.sandbox.monty_sandbox import MontySandbox
from aex_outcomes.sandbox.port import CodeFault, Context, FaultKind, Limits, Number, Returned, SandboxUnavailable
from aex_outcomes.testing.jobs import find_self_test_failures

JOB = f"{__name__}:run_code"


@lru_cache(maxsize=1)
def get_worker_sandbox() -> MontySandbox:
    """Return this worker's sandbox, created on first use; its interpreter keeps running between jobs."""
    return MontySandbox()


def run_code(payload: dict[str, Any]) -> dict[str, Any]:
    """Run custom code once in this worker's sandbox.

    `payload`: `code`, `context` (the result of `Context.as_json`), `limits` (the fields of `Limits`). Returns
    `{"value": …, "metrics": …}`, or `{"fault": {"kind": …, "message": …, "line": …}}`. Raises `SandboxUnavailable`.
    """
    try:
        returned = get_worker_sandbox().run(payload["code"], payload["context"], Limits(**payload["limits"]))
    except CodeFault as fault:
        message = fault.message.encode("utf-8", "replace").decode()
        return {"fault": {"kind": fault.kind, "message": message, "line": fault.line}}
    return {"value": returned.value, "metrics": dict(returned.metrics)}


_ENOUGH = Limits(memory_mb=64)
_SHORT = Limits(timeout_ms=250, memory_mb=64)
"""Limits of endless code only, because code that ends must not time out on a busy machine."""
_CONTEXT = '[{"question": 6}, {"text": "forty-two"}, {}]'

_DEF = "def evaluate(input, output, metadata):\n    "
_HONEST = f"{_DEF}return input['question'] * 7 + len(output['text']) - 9\n"
_READ = f"{_DEF}return len(open('/etc/passwd').read())\n"
_CONNECT = f"import socket\n{_DEF}return socket.create_connection(('127.0.0.1', 1)).fileno()\n"
_LOOP = f"{_DEF}while True: pass\n"
_NATIVE = f"{_DEF}return 7 ** 10_000_000 % 2\n"
_MEMORY = f"kept = []\n{_DEF}while True: kept.append('x' * 1_000_000 + str(len(kept)))\n"
_CASES: tuple[tuple[str, str, Limits, Number | FaultKind], ...] = (
    ("honest code", _HONEST, _ENOUGH, 42),
    ("file read", _READ, _ENOUGH, FaultKind.EXCEPTION),
    ("connect", _CONNECT, _ENOUGH, FaultKind.EXCEPTION),
    ("endless loop", _LOOP, _SHORT, FaultKind.TIMEOUT),
    ("endless native operation", _NATIVE, _SHORT, FaultKind.TIMEOUT),
    ("memory", _MEMORY, _ENOUGH, FaultKind.MEMORY),
    ("honest code after the others", _HONEST, _ENOUGH, 42),
)


def self_test(payload: dict[str, Any]) -> dict[str, Any]:
    """Test this worker's sandbox, and its runner of hidden tests, by honest and hostile code.

    `payload` is ignored. Returns `{"ok": bool, "failures": [name, …]}`; a sandbox that cannot run is one failure, with
    the reason. Takes some seconds.
    """
    del payload
    try:
        failures = [name for name, code, limits, expected in _CASES if _outcome(code, limits) != expected]
    except SandboxUnavailable as error:
        failures = [f"unavailable: {error}"]
    failures += find_self_test_failures()
    return {"ok": not failures, "failures": failures}


def _outcome(code: str, limits: Limits) -> Number | FaultKind | None:
    try:
        return get_worker_sandbox().run(code, _CONTEXT, limits).value
    except CodeFault as fault:
        return fault.kind


MEMORY_MB = 320
"""Megabytes that a worker needs beside the code's memory, for the interpreter and for reading its messages."""

_GRACE_S = 10.0
"""Seconds added to the limit for the interpreter's start, a second attempt after a crash, and large inputs."""


class DisposableSandbox:
    """Sandbox that starts a new worker for each run, in tenths of a second; for few runs, as on a laptop."""

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        """Run the code in a new worker; see `Sandbox.execute`."""
        from aex_outcomes.confinement.pool import WorkerPool  # noqa: PLC0415 workers need no asyncio
        from aex_outcomes.confinement.settings import ConfinementError, JobFailed, JobOutOfMemory, JobTimeout  # noqa: PLC0415 see above

        # Valid code has lone surrogates only within its texts.
        plain_code = code.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        payload = {"code": plain_code, "context": context.as_json(), "limits": dataclasses.asdict(limits)}
        timeout_s = 2 * limits.timeout_ms / 1000 + _GRACE_S
        pool = WorkerPool(1, timeout_s, limits.memory_mb + MEMORY_MB, jobs=[JOB], spares=0, children=True)
        try:
            async with pool:
                answer = await pool.run(JOB, payload)
        except JobTimeout:
            raise CodeFault(FaultKind.TIMEOUT, "killed past its time") from None
        except JobOutOfMemory:
            raise CodeFault(FaultKind.MEMORY, "the worker ran out of memory") from None
        except JobFailed as error:
            raise SandboxUnavailable(error.message) from None
        except ConfinementError as error:
            raise SandboxUnavailable(str(error)) from None
        fault = answer.get("fault")
        if fault is not None:
            raise CodeFault(FaultKind(fault["kind"]), fault["message"], fault["line"])
        return Returned(answer["value"], answer["metrics"])
