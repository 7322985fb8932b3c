"""What a worker gives up before it sees its first job. Nothing here can be taken back.

Each step degrades to a name in the returned list where the system does not have it (macOS, gVisor in part); the pool
logs that list. Nothing needs root or a user namespace; under root, more is given up.
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
_NOBODY = 65534
_MEGABYTE = 1 << 20
_WATCH_S = 0.5


def lock_down(confinement: Confinement, parent: int) -> list[str]:
    """Bound this process and take its rights, for good. Returns what this system could not do."""
    missing = _bound(confinement)
    missing += _drop_rights()
    _signal_at_death_of(parent)  # again: the change of user took it back, and the filter will refuse it
    missing += [] if _no_new_privileges() else ["no_new_privs"]
    filtered = seccomp.install(confinement)
    if not filtered:
        missing.append("system call filter")
        if not confinement.children:  # the second best: root is exempt from it, and it counts threads too
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    return missing


def die_with(parent: int) -> None:
    """End this process when its parent ends, whatever it is doing."""
    if not _signal_at_death_of(parent):
        threading.Thread(target=watch_parent, args=(parent,), daemon=True).start()


def _signal_at_death_of(parent: int) -> bool:
    if sys.platform != "linux":
        return False
    _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)
    return True


def watch_parent(parent: int) -> None:
    """Where the kernel sends no signal: look, twice a second, whether the parent is still there."""
    while os.getppid() == parent:
        time.sleep(_WATCH_S)
    os._exit(1)


def address_space() -> int | None:
    """Bytes of address space in use; None where the system does not tell."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    return None


def _bound(confinement: Confinement) -> list[str]:
    os.nice(confinement.nice)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (confinement.open_files, confinement.open_files))
    used = address_space()
    if used is None:
        return ["memory limit"]
    limit = used + confinement.memory_mb * _MEGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return []


def _drop_rights() -> list[str]:
    """Under root: become nobody, or, where nobody could not read Python's own files, keep no capability."""
    if os.geteuid() != 0:
        return []
    if readable_by_all([os.__file__, *sys.path]):
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        return []
    return ["unprivileged user"] if _drop_capabilities() else ["unprivileged user", "capabilities"]


def readable_by_all(paths: Iterable[str]) -> bool:
    """Whether any user may read these files and folders; those that are not there do not count."""
    return all(_open_to_all(Path(path)) for path in paths if Path(path).exists())


def _open_to_all(path: Path) -> bool:
    real = path.resolve()
    passable = all(folder.stat().st_mode & stat.S_IXOTH for folder in real.parents)
    return passable and bool(real.stat().st_mode & stat.S_IROTH)


def _drop_capabilities() -> bool:
    if sys.platform != "linux":
        return False
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    return bool(_libc().capset(header, none) == 0)


def _no_new_privileges() -> bool:
    return sys.platform == "linux" and bool(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


def privileges_are_fixed() -> bool:
    """Whether this process gave up new privileges, as every confined worker does; true where no system knows of it."""
    return sys.platform != "linux" or bool(_libc().prctl(_PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
