"""The interpreter's process: from which program it starts, when it is worn, and that none outlives its worker."""

import os
import signal
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aex_outcomes.confinement.lockdown import privileges_are_fixed
from aex_outcomes.sandbox.faults import Crashed
from aex_outcomes.sandbox.leash import Leash
from aex_outcomes.sandbox.memory import orphan_budget
from aex_outcomes.sandbox.port import SandboxUnavailable

if TYPE_CHECKING:
    from pydantic_monty import Monty, MontySession, OSPolicy, ResourceLimits

GRACE_S = 0.25
"""What the interpreter has beyond its time to stop by itself, before it is killed."""

RUNS, BUSY_S = 1_000, 10.0
"""After so many runs, or so much time in them, an interpreter is worn: starting one takes some 30 ms."""

_REQUEST_S = 5.0


class Interpreter:
    """One process, a child of this one. `timeout_s`: the time of each run. `busy_s`: all of them together wear it."""

    def __init__(self, folders: Sequence[Path], timeout_s: float, busy_s: float) -> None:
        """Starts it. Raises `SandboxUnavailable`, saying what is missing."""
        self.timeout_s = timeout_s
        self._runs_left, self._left_s = RUNS, busy_s
        self._pool = _pool(folders, timeout_s)
        self._leash = Leash()
        try:
            with orphan_budget(timeout_s), self._leash.handed_over():
                self._pool.__enter__()
                with self._pool.checkout() as session:
                    self._process = _process(session)
                    self._leash.hold(self._process)
        except Exception as error:  # noqa: BLE001 whatever keeps it from starting, there is no sandbox
            self.close()
            raise SandboxUnavailable(f"the interpreter does not start: {type(error).__name__}: {error}") from None

    @property
    def worn(self) -> bool:
        """Whether another should take its place."""
        return self._runs_left <= 0 or self._left_s <= 0

    @contextmanager
    def session(self, limits: "ResourceLimits", policy: "OSPolicy") -> Iterator["MontySession"]:
        """An empty namespace. It wears the interpreter, whatever is run in it. Raises `Crashed`."""
        began = time.monotonic()
        try:
            with self._pool.checkout(limits=limits, assert_message_annotations=False, os_policy=policy) as session:
                if _process(session) != self._process:  # the pool's own replacement: on no leash, within no budget
                    raise Crashed("while nothing was run")
                yield session
        finally:
            self._runs_left -= 1
            self._left_s -= time.monotonic() - began

    def kill(self) -> None:
        """End it amid a run, while its number can be nobody else's; `close` it then."""
        os.kill(self._process, signal.SIGKILL)

    def close(self) -> None:
        """End it."""
        self._pool.__exit__(None, None, None)
        self._leash.close()


def _process(session: "MontySession") -> int:
    found = session.worker_pid
    if found is None:
        raise Crashed("at once")
    return found


def _pool(folders: Sequence[Path], timeout_s: float) -> "Monty":
    if not privileges_are_fixed():
        raise SandboxUnavailable("custom code runs in confined workers alone, and this process is none")
    try:
        from pydantic_monty import Monty  # noqa: PLC0415 heavy, and not everywhere
    except ImportError as error:
        raise SandboxUnavailable(f"{error}: pip install 'aex-outcomes[measuring]'") from None
    return Monty(
        binary_path=_program(folders),
        min_processes=1,
        max_processes=1,
        checkout_timeout=_REQUEST_S,
        request_timeout=timeout_s + _REQUEST_S,
        feed_duration_limit_grace=GRACE_S,
    )


def _program(folders: Sequence[Path]) -> Path:
    """The interpreter, from these folders alone: never one that happens to lie on some PATH."""
    for folder in folders:
        if (folder / "monty").is_file():
            return folder / "monty"
    where = " or ".join(str(folder) for folder in dict.fromkeys(folders))
    raise SandboxUnavailable(f"the program monty is not in {where}: install pydantic-monty-runtime")


def own_folders() -> tuple[Path, ...]:
    """Where this environment has its scripts."""
    return Path(sysconfig.get_path("scripts")), Path(sys.executable).parent
