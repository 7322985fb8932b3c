"""The interpreter's process: its start and replacement, and its memory and time budgets.

The kernel signals a parent's death only to children that request it, which the interpreter does not. But it signals a
closed pipe to the pipe's owner: the child holds the reading end, this process alone the other.

A message of the interpreter needs three times its size while it is read. This process's own limit is lowered meanwhile,
so a message that is too large fails to be read: a fault of the code.
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
"""The runs and the seconds in runs after which an interpreter is replaced; a start takes some 30 ms."""
_REQUEST_S = 5.0
_HEADROOM = 96 << 20
"""Bytes beyond those in use; the client's threads reserve some of them for their stacks."""
_SPARE_S = 20
"""Seconds of an interpreter beside one last run; it is replaced after half of them."""


class ParentDeathPipe:
    """A pipe that kills a child when this process ends, on systems with the signal for it."""

    def __init__(self) -> None:
        self._child_end, self._own_end = os.pipe()

    @contextmanager
    def share_with_child(self) -> Iterator[None]:
        """Let a child that starts in this block inherit its end; `attach` it within the block."""
        os.set_inheritable(self._child_end, True)
        try:
            yield
        finally:
            os.close(self._child_end)

    def attach(self, child: int) -> None:
        """Have the child killed once this process closes its end or ends."""
        if sys.platform == "linux":
            with suppress(OSError):  # kernels in user space lack the signal: the limit remains
                fcntl.fcntl(self._child_end, fcntl.F_SETOWN, child)
                fcntl.fcntl(self._child_end, fcntl.F_SETSIG, signal.SIGKILL)
                flags = fcntl.fcntl(self._child_end, fcntl.F_GETFL)
                fcntl.fcntl(self._child_end, fcntl.F_SETFL, flags | os.O_ASYNC)

    def close(self) -> None:
        """Close this end, which kills a child that still runs."""
        os.close(self._own_end)


@contextmanager
def limit_memory_while_reading(expected: int) -> Iterator[None]:
    """Limit memory in this block to `expected` more bytes and some headroom, if usage is known."""
    used = measure_address_space()
    if used is None:
        yield
        return
    with _lower_limit(resource.RLIMIT_AS, used + expected + _HEADROOM):
        yield


@contextmanager
def limit_child_cpu_time(timeout_s: float) -> Iterator[None]:
    """Limit the processor time of a child that starts in this block.

    A child whose parent was killed then ends by itself, also where `ParentDeathPipe` does not end it. This process's
    own time is added, since the limit applies to this process for a moment.
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
    """An interpreter process. `timeout_s`: the time of each run. `busy_s`: the time of all runs together."""

    def __init__(self, folders: Sequence[Path], timeout_s: float, busy_s: float) -> None:
        """Start the process. Raises `SandboxUnavailable` with the missing part."""
        self.timeout_s = timeout_s
        self._runs_left, self._seconds_left = RUNS, busy_s
        self._pool = _pool(folders, timeout_s)
        self._death_pipe = ParentDeathPipe()
        try:
            with limit_child_cpu_time(timeout_s), self._death_pipe.share_with_child():
                self._pool.__enter__()
                with self._pool.checkout() as session:
                    self._process_id = _process_id(session)
                    self._death_pipe.attach(self._process_id)
        except Exception as error:  # noqa: BLE001 any failed start means that there is no sandbox
            self.close()
            raise SandboxUnavailable(f"the interpreter does not start: {type(error).__name__}: {error}") from None

    @property
    def is_worn(self) -> bool:
        return self._runs_left <= 0 or self._seconds_left <= 0

    @contextmanager
    def open_session(self, limits: "ResourceLimits", policy: "OSPolicy") -> Iterator["MontySession"]:
        """Open an empty namespace, which counts as a run. Raises `Crashed`."""
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
        """Kill it during a run, before its id can be reused; then `close` it."""
        os.kill(self._process_id, signal.SIGKILL)

    def close(self) -> None:
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
    """Return the interpreter's path from these folders, never from PATH."""
    for folder in folders:
        if (folder / "monty").is_file():
            return folder / "monty"
    folder_list = " or ".join(str(folder) for folder in dict.fromkeys(folders))
    raise SandboxUnavailable(f"the program monty is not in {folder_list}: install pydantic-monty-runtime")


def find_script_folders() -> tuple[Path, ...]:
    """Return this environment's folders of scripts."""
    return Path(sysconfig.get_path("scripts")), Path(sys.executable).parent
