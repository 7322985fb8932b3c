"""The rights and resources that a worker gives up, irrevocably, before its first job.

A step that the system lacks (macOS, gVisor in part) adds its name to the returned list, which the pool logs. No step
needs root or a user namespace; under root, more is given up.
"""

import contextlib
import ctypes
import os
import resource
import signal
import stat
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


def lock_down(confinement: Confinement, parent: int) -> list[str]:
    """Limit this process and drop its rights irrevocably. Return the steps that this system lacks."""
    missing = _set_limits(confinement)
    missing += _drop_rights()
    _request_parent_death_signal(parent)  # repeated: the change of user reset it, and the filter will refuse it
    if sys.platform != "linux" or _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        missing.append("no_new_privs")
    if not seccomp.install_filter(confinement):
        missing.append("system call filter")
        if not confinement.children:  # weaker: root is exempt from it, and it counts threads too
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    return missing


def exit_with_parent(parent: int) -> None:
    """End this process when its parent ends."""
    if not _request_parent_death_signal(parent):
        threading.Thread(target=poll_parent_and_exit, args=(parent,), daemon=True).start()


def _request_parent_death_signal(parent: int) -> bool:
    if sys.platform != "linux":
        return False
    _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)
    return True


def poll_parent_and_exit(parent: int) -> None:
    """Poll the parent's existence twice a second, for systems without a parent-death signal."""
    while os.getppid() == parent:
        time.sleep(_WATCH_S)
    os._exit(1)


def measure_address_space() -> int | None:
    """Return the bytes of address space in use; None where the system does not report them."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    return None


def _set_limits(confinement: Confinement) -> list[str]:
    os.nice(confinement.nice)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (confinement.open_files, confinement.open_files))
    used = measure_address_space()
    if used is None:
        return ["memory limit"]
    limit = used + confinement.memory_mb * _MEGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return []


def _drop_rights() -> list[str]:
    """Under root, become user 65534; drop capabilities alone where that user cannot read Python's files."""
    if os.geteuid() != 0:
        return []
    if is_readable_by_all([os.__file__, *sys.path]):
        os.setgroups([])
        os.setresgid(_UNPRIVILEGED_ID, _UNPRIVILEGED_ID, _UNPRIVILEGED_ID)
        os.setresuid(_UNPRIVILEGED_ID, _UNPRIVILEGED_ID, _UNPRIVILEGED_ID)
        return []
    return ["unprivileged user"] if _drop_capabilities() else ["unprivileged user", "capabilities"]


def is_readable_by_all(paths: Iterable[str]) -> bool:
    """Return True when any user may read these files and folders; missing ones are ignored."""
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
    """Return True when this process gave up new privileges, or the system has no such state."""
    return sys.platform != "linux" or bool(_libc().prctl(_PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
