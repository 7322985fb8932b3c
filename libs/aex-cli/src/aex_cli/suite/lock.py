"""One suite for one data directory: an exclusive lock that ends with the last process of the suite.

The services inherit the open lock, so that a suite whose supervisor was killed holds it until its services have
drained: a successor neither meets them on the ports nor shares the files with them.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aex_runtime.commandline.errors import UserError

DRAIN_S = 30.0
"""How long a successor waits for the services of a killed suite; they need half of it at most."""
_POLL_S = 0.1


@contextmanager
def suite_lock(path: Path, notify: Callable[[str], None], drain_s: float = DRAIN_S) -> Iterator[int]:
    """Hold the lock file; yields its descriptor, which the services inherit.

    Raises `UserError` naming the process that holds it: at once where that process lives, after `drain_s` where it
    was killed and its services have still not ended.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(descriptor, path, notify, drain_s)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: Path, notify: Callable[[str], None], drain_s: float) -> None:
    deadline = time.monotonic() + drain_s
    told = False
    while not _try(descriptor):
        holder = _holder(descriptor)
        if holder is None or _alive(holder):
            raise _held(path, holder)
        if time.monotonic() >= deadline:
            raise UserError(
                f"the services that process {holder} started on {path.parent} have not ended",
                f"see who has {path} open, and stop them",
            )
        if not told:
            notify(f"the suite of process {holder} was killed; waiting for its services to end")
            told = True
        time.sleep(_POLL_S)


def _held(path: Path, holder: int | None) -> UserError:
    who = f"process {holder}" if holder else "another process"
    stop = f"stop it (kill {holder})" if holder else "stop it"
    return UserError(
        f"a suite is already running on {path.parent}, held by {who}", f"{stop}, or choose another --data-dir"
    )


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).strip()
    return int(text) if text.isdigit() else None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
