"""Whether the sandbox of a worker keeps its promises, tried out before anyone's code runs in it."""

from collections.abc import Callable
from typing import Any

from aex_outcomes.sandbox.job import worker_sandbox
from aex_outcomes.sandbox.port import CodeFault, FaultKind, Limits, Returned, SandboxUnavailable

JOB = f"{__name__}:self_test"

_ENOUGH = Limits(memory_mb=64)
_SHORT = Limits(timeout_ms=250, memory_mb=64)
"""For what never ends. Whatever does must not fail on a machine that has much to do."""
_CONTEXT = '[{"question": 6}, {"text": "forty-two"}, {}]'

_DEF = "def evaluate(input, output, metadata):\n    "
_HONEST = f"{_DEF}return input['question'] * 7 + len(output['text']) - 9\n"
_READ = f"{_DEF}return len(open('/etc/passwd').read())\n"
_CONNECT = f"import socket\n{_DEF}return socket.create_connection(('127.0.0.1', 1)).fileno()\n"
_LOOP = f"{_DEF}while True: pass\n"
_NATIVE = f"{_DEF}return 7 ** 10_000_000 % 2\n"
_MEMORY = f"kept = []\n{_DEF}while True: kept.append('x' * 1_000_000 + str(len(kept)))\n"

Expected = Callable[[Returned | CodeFault], bool]


def self_test(payload: dict[str, Any]) -> dict[str, Any]:
    """Run honest code, a file read, a connection, two endless operations and a memory hog, and honest code again.

    `payload`: nothing is read of it. Returns `{"ok": bool, "failures": [name, …]}`; a sandbox that cannot run at all
    is one failure, which says why. Takes about a second.
    """
    del payload
    try:
        failures = [name for name, code, limits, expected in _cases() if not expected(_outcome(code, limits))]
    except SandboxUnavailable as error:
        failures = [f"unavailable: {error}"]
    return {"ok": not failures, "failures": failures}


def _cases() -> tuple[tuple[str, str, Limits, Expected], ...]:
    return (
        ("honest code", _HONEST, _ENOUGH, _is_42),
        ("file read", _READ, _ENOUGH, _fails_with(FaultKind.EXCEPTION)),
        ("connect", _CONNECT, _ENOUGH, _fails_with(FaultKind.EXCEPTION)),
        ("endless loop", _LOOP, _SHORT, _fails_with(FaultKind.TIMEOUT)),
        ("endless native operation", _NATIVE, _SHORT, _fails_with(FaultKind.TIMEOUT)),
        ("memory", _MEMORY, _ENOUGH, _fails_with(FaultKind.MEMORY)),
        ("honest code after the others", _HONEST, _ENOUGH, _is_42),
    )


def _outcome(code: str, limits: Limits) -> Returned | CodeFault:
    try:
        return worker_sandbox().run(code, _CONTEXT, limits)
    except CodeFault as fault:
        return fault


def _is_42(outcome: Returned | CodeFault) -> bool:
    return isinstance(outcome, Returned) and outcome.value == 42


def _fails_with(kind: FaultKind) -> Expected:
    return lambda outcome: isinstance(outcome, CodeFault) and outcome.kind is kind
