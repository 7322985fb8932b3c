"""The suite's data directory and its exclusive lock.

The services inherit the open lock file. If the supervisor is killed, the directory stays locked until they have ended.
So two suites never share ports or files.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aex_runtime.commandline import UserError
from aex_runtime.files import UnknownLayout, ensure_data_dir

_OWN_NAMES = frozenset({"version", "lock", "keys", "logs", "bus", "blobs"})


def prepare_data_directory(path: Path) -> Path:
    """Create the directory and its folder `logs` with mode 0700 if missing, and return its absolute path.

    The key is created later, by the first service or by `aex token`. Raises `UserError` if the directory cannot be
    used.
    """
    root = path.expanduser().resolve()
    try:
        _check_content(root)
        ensure_data_dir(root)
        (root / "logs").mkdir(mode=0o700, exist_ok=True)
    except UnknownLayout as error:
        raise UserError(str(error), "use the release that wrote it, or another --data-dir") from None
    except (FileExistsError, NotADirectoryError):
        raise UserError(f"{path} is not a folder", "choose another --data-dir") from None
    except OSError as error:
        raise UserError(f"{path} cannot be used: {error.strerror}", "choose a --data-dir that you may write") from None
    return root


def _check_content(root: Path) -> None:
    """Raise `UserError` if the folder holds other files than a suite's, such as a project folder."""
    if not root.exists():
        return
    found = {entry.name for entry in root.iterdir()}
    if found and not found & _OWN_NAMES:
        fix = f"choose an empty one, such as --data-dir {root / '.aex'}"
        raise UserError(f"{root} holds other files and is no data directory", fix)


DRAIN_S = 30.0
"""Seconds to wait for the services of a killed suite. They need at most half of it."""
_POLL_S = 0.1


@contextmanager
def lock_data_directory(root: Path, notify: Callable[[str], None], drain_s: float = DRAIN_S) -> Iterator[int]:
    """Lock the data directory during the block, and yield the descriptor that services inherit.

    If another suite uses the directory, `UserError` with its process id is raised at once. If that suite was killed,
    its services have `drain_s` seconds to end, and `notify` gets a message.
    """
    path = root / "lock"
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
    notified = False
    while not _try_lock(descriptor):
        owner = _owner_pid(descriptor)
        if owner is None or _is_running(owner):
            name, stop = (f"process {owner}", f"stop it (kill {owner})") if owner else ("another process", "stop it")
            message = f"a suite is already running on {path.parent}, held by {name}"
            raise UserError(message, f"{stop}, or choose another --data-dir")
        if time.monotonic() >= deadline:
            raise UserError(
                f"the services that process {owner} started on {path.parent} have not ended",
                f"see who has {path} open, and stop them",
            )
        if not notified:
            notify(f"the suite of process {owner} was killed; waiting for its services to end")
            notified = True
        time.sleep(_POLL_S)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owner_pid(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).strip()
    return int(text) if text.isdigit() else None


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    return True
