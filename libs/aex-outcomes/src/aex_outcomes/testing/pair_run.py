"""Run of one hidden test by a fresh pair of processes, a tester and a candidate."""

import json
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_outcomes.testing.memory_importer import map_modules_to_paths
from aex_outcomes.testing.results import MAX_MESSAGE, HiddenTest, HiddenTestResult, Outcome
from aex_outcomes.testing.zygote import CONFINED
from aex_outcomes.testing.zygote_process import ZygoteProcess

_TESTER_MB = 256
_LENGTH = struct.Struct(">I")
_MAX_REPORT_BYTES = 65_536
_START_S = 10.0
_CPU_TIME_SIGNAL = -24
"""Exit code of a process that used up its processor time (SIGXCPU)."""
_NOT_PYTHON_S = 2


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of the run of one test."""

    timeout_s: float
    memory_mb: int

    @property
    def cpu_s(self) -> int:
        """Return the limit of processor seconds, a little above the time limit."""
        return int(self.timeout_s) + _NOT_PYTHON_S


class ForkedProcess:
    """Process that the zygote forks; it is killed at the end of the block, unless it was reaped."""

    def __init__(self, zygote: ZygoteProcess, role: str, ends: Sequence[Any], memory_mb: int, cpu_s: int) -> None:
        """Fork the process, which gets these sockets or files. Raises `SandboxUnavailable`."""
        self._zygote = zygote
        self._pid = zygote.fork(role, [each.fileno() for each in ends], memory_mb=memory_mb, cpu_s=cpu_s)
        self._exit_code: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._exit_code is None:
            self._zygote.discard(self._pid)

    def reap(self, wait_s: float = 0) -> int:
        """Wait for the end, kill the process after `wait_s` seconds, and return its exit code."""
        if self._exit_code is None:
            self._exit_code = self._zygote.reap(self._pid, max(wait_s, 0))
        return self._exit_code


def open_socket_pair(stack: ExitStack) -> tuple[socket.socket, socket.socket]:
    """Return a new pair of connected sockets, which the stack closes."""
    first, second = socket.socketpair()
    return stack.enter_context(first), stack.enter_context(second)


def wait_until_confined(*connections: socket.socket) -> None:
    """Wait until the processes at the other ends are confined.

    Raises `SandboxUnavailable` if one is not within 10 s: no code has run in it, so that no test has failed.
    """
    for each in connections:
        each.settimeout(_START_S)
        try:
            is_confined = each.recv(len(CONFINED)) == CONFINED
        except OSError:
            is_confined = False
        if not is_confined:
            raise SandboxUnavailable("a process for tests could not be confined")


def send_json(connection: socket.socket, message: Any, deadline: float) -> None:
    """Send a message with its length, unless the process has ended or the deadline passes."""
    body = json.dumps(message).encode("ascii")
    connection.settimeout(max(deadline - time.monotonic(), 0.001))
    try:
        connection.sendall(_LENGTH.pack(len(body)) + body)
    except OSError:  # the missing answer decides the outcome
        return


def run_pair(
    zygote: ZygoteProcess, tests: Mapping[str, Any], case: HiddenTest, program: Mapping[str, str], limits: RunLimits
) -> HiddenTestResult:
    """Run a test of a test file by a tester and a candidate process. Raises `SandboxUnavailable`.

    `tests`: the JSON of `HiddenTests`. `program`: source texts of the candidate by path.
    """
    with ExitStack() as stack:
        candidate_pair_end, tester_pair_end = open_socket_pair(stack)
        to_candidate, candidate_end = open_socket_pair(stack)
        to_tester, tester_end = open_socket_pair(stack)
        ends = [candidate_pair_end, candidate_end]
        candidate = stack.enter_context(ForkedProcess(zygote, "candidate", ends, limits.memory_mb, limits.cpu_s))
        ends = [tester_pair_end, tester_end]
        tester = stack.enter_context(ForkedProcess(zygote, "tester", ends, _TESTER_MB, limits.cpu_s))
        for each in (candidate_pair_end, candidate_end, tester_pair_end, tester_end):
            each.close()
        wait_until_confined(to_candidate, to_tester)
        began = time.monotonic()
        deadline = began + limits.timeout_s
        send_json(to_candidate, dict(program), deadline)
        send_json(to_tester, _make_task(tests, case, program), deadline)
        try:
            report = _receive_report(to_tester, deadline)
        except TimeoutError:
            return make_result(case, began, Outcome.TIMEOUT, f"no end within {limits.timeout_s:g} s")
        if report is None:
            return make_result(case, began, Outcome.ERROR, f"the test ended its process (exit code {tester.reap()})")
        outcome, message = Outcome(report["outcome"]), str(report["message"])
        if outcome is Outcome.CRASHED:
            outcome, message = _explain_crash(candidate.reap(), message)
        return make_result(case, began, outcome, message)


def make_result(case: HiddenTest, began: float, outcome: Outcome, message: str) -> HiddenTestResult:
    """Return the result of a test that began at this time of the monotonic clock."""
    milliseconds = round(1_000 * (time.monotonic() - began))
    # A program may put anything into its message: the result must be plain text in JSON, of a bounded size.
    text = "".join(each if each.isprintable() or each in "\n\t" else "\ufffd" for each in message[:MAX_MESSAGE])
    return HiddenTestResult(case.name, outcome, milliseconds, "" if outcome is Outcome.PASSED else text)


def _make_task(tests: Mapping[str, Any], case: HiddenTest, program: Mapping[str, str]) -> dict[str, Any]:
    return {
        "style": tests["style"],
        "files": tests["files"],
        "path": case.path,
        "name": case.function,
        "program_modules": sorted(map_modules_to_paths(program)),
    }


def _receive_report(connection: socket.socket, deadline: float) -> Mapping[str, Any] | None:
    """Return the tester's report; None if it ended without one.

    Raises `TimeoutError` at the deadline.
    """
    received = b""
    while len(received) < _LENGTH.size or len(received) < _LENGTH.size + _LENGTH.unpack_from(received)[0]:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            part = connection.recv(_MAX_REPORT_BYTES)
        except ConnectionError:
            return None
        received += part
        if not part or len(received) > _MAX_REPORT_BYTES:
            return None
    report: Mapping[str, Any] = json.loads(received[_LENGTH.size :])
    return report


def _explain_crash(exit_code: int, message: str) -> tuple[Outcome, str]:
    if exit_code == _CPU_TIME_SIGNAL:
        return Outcome.TIMEOUT, "the program used up its processor time"
    end = f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
    return Outcome.CRASHED, f"{message} ({end})"
