"""Confinement of a worker process: rights and resources that it gives up before its first job.

No step needs root or a user namespace; a process of root gives up more. Steps that a system lacks, such as macOS or
gVisor, are reported to the pool.
"""

import contextlib
import ctypes
import math
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from aex_outcomes.confinement import seccomp
from aex_outcomes.confinement.settings import Confinement

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_GET_NO_NEW_PRIVS = 1, 38, 39
_CAPABILITY_VERSION_3 = 0x20080522
_UNPRIVILEGED_ID = 65534
_MEGABYTE = 1 << 20
_WATCH_S = 0.5


def lock_down(confinement: Confinement, parent_pid: int) -> list[str]:
    """Limit this process and drop its rights irrevocably; return the steps that this system lacks."""
    missing = _set_limits(confinement)
    missing += _drop_rights()
    _request_parent_death_signal(parent_pid)  # repeated: the change of user reset it, and the filter will refuse it
    if sys.platform != "linux" or _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        missing.append("no_new_privs")
    if not seccomp.install_filter(confinement):
        missing.append("system call filter")
        if not confinement.children:  # weaker: root is exempt from it, and it counts threads too
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    return missing


def exit_with_parent(parent_pid: int) -> None:
    """Arrange that this process ends when its parent ends, by a signal or else by a polling thread."""
    if not _request_parent_death_signal(parent_pid):
        threading.Thread(target=poll_parent_and_exit, args=(parent_pid,), daemon=True).start()


def _request_parent_death_signal(parent_pid: int) -> bool:
    if sys.platform != "linux":
        return False
    is_set = bool(_libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0)
    if os.getppid() != parent_pid:  # it died before the line above
        os._exit(1)
    return is_set


def poll_parent_and_exit(parent_pid: int) -> None:
    """Check twice a second whether the parent still exists, and exit this process once it does not."""
    while os.getppid() == parent_pid:
        time.sleep(_WATCH_S)
    os._exit(1)


def null_stream() -> int | None:
    """Return `subprocess.DEVNULL`; None in a worker, which may not open it but has it as its own streams."""
    try:
        os.close(os.open(os.devnull, os.O_RDWR))
    except PermissionError:
        return None
    return subprocess.DEVNULL


def measure_address_space() -> int | None:
    """Return the size of this process's address space in bytes; None if the system does not report it."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    return None


def _set_limits(confinement: Confinement) -> list[str]:
    with contextlib.suppress(PermissionError):  # a worker of a worker is nice already
        os.nice(confinement.nice)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if confinement.cpu_seconds is not None:
        last = math.ceil(time.process_time()) + confinement.cpu_seconds
        resource.setrlimit(resource.RLIMIT_CPU, (last, last + 1))  # SIGXCPU, then SIGKILL
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (confinement.open_files, confinement.open_files))
    used = measure_address_space()
    if used is None:
        return ["memory limit"]
    limit = used + confinement.memory_mb * _MEGABYTE
    _, inherited = resource.getrlimit(resource.RLIMIT_AS)  # a worker's worker cannot have more than the worker
    limit = limit if inherited == resource.RLIM_INFINITY else min(limit, inherited)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return []


def _drop_rights() -> list[str]:
    """Change from root to user 65534, or drop only capabilities if that user cannot read Python's files.

    Returns the steps that were not possible. A process of another user changes nothing.
    """
    if os.geteuid() != 0:
        return []
    if is_readable_by_all([os.__file__, *sys.path]):
        os.setgroups([])
        os.setresgid(_UNPRIVILEGED_ID, _UNPRIVILEGED_ID, _UNPRIVILEGED_ID)
        os.setresuid(_UNPRIVILEGED_ID, _UNPRIVILEGED_ID, _UNPRIVILEGED_ID)
        return []
    return ["unprivileged user"] if _drop_capabilities() else ["unprivileged user", "capabilities"]


def is_readable_by_all(paths: Iterable[str]) -> bool:
    """Return True if every user may read these files and folders; missing ones are ignored."""
    files = [Path(path).resolve() for path in paths if Path(path).exists()]
    folders = {folder for file in files for folder in file.parents}
    is_passable = all(folder.stat().st_mode & stat.S_IXOTH for folder in folders)
    return is_passable and all(file.stat().st_mode & stat.S_IROTH for file in files)


def _drop_capabilities() -> bool:
    if sys.platform != "linux":
        return False
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    return bool(_libc().capset(header, none) == 0)


def has_no_new_privileges() -> bool:
    """Return True if this process can gain no new privileges, or the system has no flag for that."""
    return sys.platform != "linux" or bool(_libc().prctl(_PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
