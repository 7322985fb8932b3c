"""Process of the sandbox's interpreter: its start and end, and its memory and time limits.

The interpreter must end with this process. It does not ask the kernel for a signal at its parent's death, and no other
process can ask in its place. But the kernel can signal the reader of a pipe when the other end is closed. So the
interpreter inherits the reading end of a pipe whose other end only this process has.

Reading a message of the interpreter takes three times its size in memory. During the read this process's own limit is
lowered, so that a message that is too large fails to be read. The work's or agent's code is then blamed for it.
"""

import fcntl
import math
import os
import resource
import signal
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from aex_outcomes.confinement.lockdown import has_no_new_privileges, measure_address_space
from aex_outcomes.sandbox.faults import Crashed
from aex_outcomes.sandbox.port import SandboxUnavailable

if TYPE_CHECKING:
    from pydantic_monty import Monty, MontySession, OSPolicy, ResourceLimits

GRACE_S = 0.25
"""Seconds beyond its time after which the interpreter is killed."""
RUNS, BUSY_S = 1_000, 10.0
"""Number of runs, and seconds in runs, after which an interpreter is replaced; a start takes some 30 ms."""
_REQUEST_S = 5.0
_HEADROOM = 96 << 20
"""Bytes that this process may use beyond those in use; the client's threads need some for their stacks."""
_SPARE_S = 20
"""Seconds of processor time of an interpreter beyond two runs; it is replaced after half of them."""


class ParentDeathPipe:
    """Pipe that has a child process killed when this process ends, on Linux kernels that support it."""

    def __init__(self) -> None:
        self._child_end, self._own_end = os.pipe()

    @contextmanager
    def pass_to_child(self) -> Iterator[None]:
        """Pass the reading end to a child process that starts in this block.

        Call `kill_child_on_close` with its id in the block. This process closes its copy when the block ends.
        """
        os.set_inheritable(self._child_end, True)
        try:
            yield
        finally:
            os.close(self._child_end)

    def kill_child_on_close(self, child_pid: int) -> None:
        """Have the child process killed once this process calls `close` or ends; does nothing if unsupported."""
        if sys.platform == "linux":
            with suppress(OSError):  # kernels in user space lack the signal: the limit remains
                fcntl.fcntl(self._child_end, fcntl.F_SETOWN, child_pid)
                fcntl.fcntl(self._child_end, fcntl.F_SETSIG, signal.SIGKILL)
                flags = fcntl.fcntl(self._child_end, fcntl.F_GETFL)
                fcntl.fcntl(self._child_end, fcntl.F_SETFL, flags | os.O_ASYNC)

    def close(self) -> None:
        """Close this process's end, which kills an attached child that still runs."""
        os.close(self._own_end)


@contextmanager
def limit_memory_while_reading(expected_bytes: int) -> Iterator[None]:
    """Limit this process's memory in the block to the present usage, `expected_bytes` and some headroom.

    Does nothing if the system does not report the usage.
    """
    used = measure_address_space()
    if used is None:
        yield
        return
    with _lower_limit(resource.RLIMIT_AS, used + expected_bytes + _HEADROOM):
        yield


@contextmanager
def limit_child_cpu_time(timeout_s: float) -> Iterator[None]:
    """Limit the processor time of a child process that starts in this block to little above two runs.

    So a child whose parent was killed ends even where `ParentDeathPipe` does not work. `timeout_s`: seconds of one run.
    This process's own time so far is added, because the limit applies to this process during the block.
    """
    with _lower_limit(resource.RLIMIT_CPU, math.ceil(time.process_time() + _SPARE_S + 2 * timeout_s)):
        yield


@contextmanager
def _lower_limit(limit: int, value: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(limit)
    bounds = [each for each in (value, soft, hard) if each != resource.RLIM_INFINITY]
    resource.setrlimit(limit, (min(bounds), hard))
    try:
        yield
    finally:
        resource.setrlimit(limit, (soft, hard))


class Interpreter:
    """Running interpreter process."""

    def __init__(self, folders: Sequence[Path], timeout_s: float, busy_s: float) -> None:
        """Start the process. Raises `SandboxUnavailable`, which names what is missing.

        `folders`: where to find the program `monty`. `timeout_s`: seconds of each run. `busy_s`: seconds of all runs
        after which the interpreter is worn.
        """
        self.timeout_s = timeout_s
        self._runs_left, self._seconds_left = RUNS, busy_s
        self._pool = _pool(folders, timeout_s)
        self._death_pipe = ParentDeathPipe()
        try:
            with limit_child_cpu_time(timeout_s), self._death_pipe.pass_to_child():
                self._pool.__enter__()
                with self._pool.checkout() as session:
                    self._process_id = _process_id(session)
                    self._death_pipe.kill_child_on_close(self._process_id)
        except Exception as error:  # noqa: BLE001 any failed start means that there is no sandbox
            self.close()
            raise SandboxUnavailable(f"the interpreter does not start: {type(error).__name__}: {error}") from None

    @property
    def is_due_for_replacement(self) -> bool:
        """Return True if the process has run so often or so long that it should be replaced."""
        return self._runs_left <= 0 or self._seconds_left <= 0

    @contextmanager
    def open_session(self, limits: "ResourceLimits", policy: "OSPolicy") -> Iterator["MontySession"]:
        """Open an empty namespace for one run. Raises `Crashed` if the process has died."""
        began = time.monotonic()
        try:
            with self._pool.checkout(limits=limits, assert_message_annotations=False, os_policy=policy) as session:
                if _process_id(session) != self._process_id:  # a replacement by the pool has neither pipe nor budget
                    raise Crashed("while idle")
                yield session
        finally:
            self._runs_left -= 1
            self._seconds_left -= time.monotonic() - began

    def kill(self) -> None:
        """Kill the process during a run; call `close` afterwards."""
        os.kill(self._process_id, signal.SIGKILL)

    def close(self) -> None:
        """End the process."""
        self._pool.__exit__(None, None, None)
        self._death_pipe.close()


def _process_id(session: "MontySession") -> int:
    found = session.worker_pid
    if found is None:
        raise Crashed("at once")
    return found


def _pool(folders: Sequence[Path], timeout_s: float) -> "Monty":
    if not has_no_new_privileges():
        raise SandboxUnavailable("custom code runs in confined workers alone, and this process is none")
    try:
        from pydantic_monty import Monty  # noqa: PLC0415 heavy, and not everywhere
    except ImportError as error:
        raise SandboxUnavailable(f"{error}: pip install 'aex-outcomes[measuring]'") from None
    return Monty(
        binary_path=_program_path(folders),
        min_processes=1,
        max_processes=1,
        checkout_timeout=_REQUEST_S,
        request_timeout=timeout_s + _REQUEST_S,
        feed_duration_limit_grace=GRACE_S,
    )


def _program_path(folders: Sequence[Path]) -> Path:
    """Return the path of the program `monty` in one of the folders; PATH is never searched."""
    for folder in folders:
        if (folder / "monty").is_file():
            return folder / "monty"
    folder_list = " or ".join(str(folder) for folder in dict.fromkeys(folders))
    raise SandboxUnavailable(f"the program monty is not in {folder_list}: install pydantic-monty-runtime")


def find_script_folders() -> tuple[Path, ...]:
    """Return the folders in which this Python environment installs programs."""
    return Path(sysconfig.get_path("scripts")), Path(sys.executable).parent
