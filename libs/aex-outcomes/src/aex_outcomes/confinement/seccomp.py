"""Filter of a worker's system calls (seccomp-bpf), which needs no library, privilege or namespace.

It refuses calls that no metric needs. Files can be read but not changed, no socket can be created, and other processes
can be neither started, signalled nor inspected. Refused calls fail with EPERM, which libraries handle.

The call numbers come from the kernel's `asm/unistd_64.h` (x86_64) and `asm-generic/unistd.h` (aarch64). They are part
of its ABI and never change.
"""

import ctypes
import errno
import os
import signal
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aex_outcomes.confinement.settings import Confinement


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NETWORK = _names("socket connect bind listen accept accept4")
"""Calls for sockets to a network or another process. `socketpair` is allowed, because event loops need it."""

CHILDREN = _names("fork vfork execve execveat")
"""Calls that start processes. Threads (`clone` with CLONE_THREAD) are allowed."""

OTHERS = _names(
    "ptrace process_vm_readv process_vm_writev tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open pidfd_getfd "
    "pidfd_send_signal kcmp process_madvise sched_setaffinity sched_setscheduler sched_setparam sched_setattr "
    "setpriority ioprio_set migrate_pages move_pages"
)
"""Calls that reach into processes of the same user: the service and its other workers."""

FILES = _names(
    "creat truncate ftruncate fallocate rename renameat renameat2 mkdir mkdirat rmdir unlink unlinkat link "
    "linkat symlink symlinkat mknod mknodat chmod fchmod fchmodat chown fchown lchown fchownat "
    "utime utimes futimesat utimensat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr "
    "memfd_create memfd_secret"
)
"""Calls that change files, or allocate memory that is counted as a file instead of against the worker."""

PATHS = _names("open openat stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat")
"""Calls that open a file, or look for one, by its path. `openat2` is refused always."""

KERNEL = _names(
    "io_uring_setup io_uring_enter io_uring_register bpf perf_event_open userfaultfd keyctl add_key "
    "request_key unshare setns mount umount2 move_mount open_tree fsopen pivot_root chroot init_module "
    "finit_module kexec_load reboot open_by_handle_at personality modify_ldt shmget msgget semget mq_open "
    "setrlimit"
)
"""Parts of the kernel that no metric needs; io_uring would bypass this filter."""

NEWEST = 451
"""Calls with higher numbers are newer than this list; ENOSYS makes the C library use the older call."""


def parse_call_numbers(text: str) -> dict[str, int]:
    """Return the numbers of system calls by name, from `name:number` separated by spaces."""
    return {name: int(number) for name, number in (item.split(":") for item in text.split())}


X86_64 = parse_call_numbers(
    "socket:41 connect:42 bind:49 listen:50 accept:43 accept4:288 fork:57 vfork:58 execve:59 execveat:322 lstat:6 "
    "ptrace:101 process_vm_readv:310 process_vm_writev:311 tkill:200 rt_sigqueueinfo:129 rt_tgsigqueueinfo:297 "
    "pidfd_open:434 pidfd_getfd:438 pidfd_send_signal:424 kcmp:312 process_madvise:440 sched_setaffinity:203 "
    "sched_setscheduler:144 sched_setparam:142 sched_setattr:314 setpriority:141 ioprio_set:251 migrate_pages:256 "
    "move_pages:279 creat:85 truncate:76 ftruncate:77 fallocate:285 rename:82 renameat:264 renameat2:316 mkdir:83 "
    "stat:4 access:21 mkdirat:258 rmdir:84 unlink:87 unlinkat:263 link:86 linkat:265 symlink:88 symlinkat:266 "
    "mknod:133 mknodat:259 chmod:90 fchmod:91 fchmodat:268 chown:92 fchown:93 lchown:94 fchownat:260 readlinkat:267 "
    "utime:132 utimes:235 futimesat:261 utimensat:280 setxattr:188 lsetxattr:189 fsetxattr:190 removexattr:197 "
    "lremovexattr:198 fremovexattr:199 memfd_create:319 memfd_secret:447 io_uring_setup:425 io_uring_enter:426 "
    "io_uring_register:427 bpf:321 perf_event_open:298 userfaultfd:323 keyctl:250 add_key:248 request_key:249 "
    "readlink:89 unshare:272 setns:308 mount:165 umount2:166 move_mount:429 open_tree:428 fsopen:430 pivot_root:155 "
    "chroot:161 init_module:175 finit_module:313 kexec_load:246 reboot:169 open_by_handle_at:304 personality:135 "
    "modify_ldt:154 shmget:29 msgget:68 semget:64 mq_open:240 setrlimit:160 clone:56 clone3:435 open:2 openat:257 "
    "openat2:437 kill:62 tgkill:234 prlimit64:302 prctl:157 newfstatat:262 statx:332 faccessat:269 faccessat2:439"
)
AARCH64 = parse_call_numbers(
    "socket:198 connect:203 bind:200 listen:201 accept:202 accept4:242 execve:221 execveat:281 ptrace:117 clone3:435 "
    "process_vm_readv:270 process_vm_writev:271 tkill:130 rt_sigqueueinfo:138 rt_tgsigqueueinfo:240 pidfd_open:434 "
    "pidfd_getfd:438 pidfd_send_signal:424 kcmp:272 process_madvise:440 sched_setaffinity:122 sched_setscheduler:119 "
    "sched_setparam:118 sched_setattr:274 setpriority:140 ioprio_set:30 migrate_pages:238 move_pages:239 truncate:45 "
    "ftruncate:46 fallocate:47 renameat:38 renameat2:276 mkdirat:34 unlinkat:35 linkat:37 symlinkat:36 mknodat:33 "
    "fchmod:52 fchmodat:53 fchown:55 fchownat:54 utimensat:88 setxattr:5 lsetxattr:6 fsetxattr:7 removexattr:14 "
    "lremovexattr:15 fremovexattr:16 memfd_create:279 memfd_secret:447 io_uring_setup:425 io_uring_enter:426 "
    "io_uring_register:427 bpf:280 perf_event_open:241 userfaultfd:282 keyctl:219 add_key:217 request_key:218 "
    "unshare:97 setns:268 mount:40 umount2:39 move_mount:429 open_tree:428 readlinkat:78 fsopen:430 pivot_root:41 "
    "chroot:51 init_module:105 finit_module:273 kexec_load:104 reboot:142 faccessat:48 open_by_handle_at:265 "
    "personality:92 shmget:194 msgget:186 semget:190 mq_open:180 setrlimit:164 clone:220 openat:56 openat2:437 "
    "kill:129 tgkill:131 prlimit64:261 prctl:167 newfstatat:79 statx:291 faccessat2:439"
)


_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06  # BPF: ld abs, jeq, jgt, jset, ret
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x3FFFFFFF  # numbers above it are x86_64's second table

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CLONE_THREAD = 0x00010000
_PR_SET_PDEATHSIG = 1
_SET_MODE_FILTER, _ALL_THREADS = 1, 1


@dataclass(frozen=True, slots=True)
class Processor:
    """Numbers of a processor architecture."""

    audit: int
    """Audit number of the architecture."""
    numbers: dict[str, int]
    """Numbers of the system calls by name."""
    seccomp: int
    """Number of the call `seccomp`."""


PROCESSORS = {"x86_64": Processor(0xC000003E, X86_64, 317), "aarch64": Processor(0xC00000B7, AARCH64, 277)}

Instruction = tuple[int, int, int, int]
"""BPF instruction: code, steps to jump if true, steps to jump if false, operand."""

PASS: Instruction = (_RETURN, 0, 0, _ALLOW)
"""Instruction that allows the call."""


def build_filter_program(processor: Processor, confinement: Confinement, pid: int) -> list[Instruction]:
    """Return the BPF instructions of the filter for a worker with this process id."""
    refused = [*OTHERS, *FILES, *KERNEL]
    refused += [] if confinement.network else NETWORK
    refused += [] if confinement.children else CHILDREN
    refused += [] if confinement.files else PATHS
    numbers = processor.numbers
    return [
        *build_architecture_check(processor),
        (_ABOVE, 0, 1, NEWEST),
        refuse(errno.ENOSYS),
        *(step for name in refused if name in numbers for step in refuse_call(numbers[name], errno.EPERM)),
        *_refusals_by_argument(numbers, confinement, pid),
        PASS,
    ]


def build_architecture_check(processor: Processor) -> list[Instruction]:
    """Return instructions that refuse calls of another architecture, and load the call's number."""
    return [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, processor.audit),
        refuse(errno.EPERM),
        (_LOAD, 0, 0, _NUMBER),
        (_ABOVE, 0, 1, _X32),
        refuse(errno.EPERM),
    ]


def _refusals_by_argument(numbers: dict[str, int], confinement: Confinement, pid: int) -> Iterator[Instruction]:
    if "open" in numbers:
        yield from _refuse_if(numbers["open"], 1, (_ANY_BIT, _WRITING))
    yield from _refuse_if(numbers["openat"], 2, (_ANY_BIT, _WRITING))
    # The flags of openat2 and clone3 lie behind a pointer; libc falls back to openat and clone.
    yield from refuse_call(numbers["openat2"], errno.ENOSYS)
    if confinement.children:  # its processes may ask to be killed at its end, and set limits below the hard ones
        yield from _refuse_weaker_death_signal(numbers["prctl"])
        yield from _refuse_new_limits_of_others(numbers["prlimit64"])
        return
    yield from _refuse_if(numbers["prctl"], 0, (_EQUAL, _PR_SET_PDEATHSIG))
    yield from _refuse_new_limits(numbers["prlimit64"])
    yield from refuse_call(numbers["clone3"], errno.ENOSYS)
    yield from _refuse_unless(numbers["clone"], 0, (_ANY_BIT, _CLONE_THREAD))
    for name in ("kill", "tgkill"):  # only to itself: abort() must work
        yield from _refuse_unless(numbers[name], 0, (_EQUAL, pid))


def _refuse_weaker_death_signal(prctl: int) -> list[Instruction]:
    """Refuse `prctl(PR_SET_PDEATHSIG)` with any other signal than SIGKILL."""
    is_death_signal = [(_EQUAL, 0, 6, prctl), load_argument(0), (_EQUAL, 0, 3, _PR_SET_PDEATHSIG)]
    return [*is_death_signal, load_argument(1), (_EQUAL, 1, 0, signal.SIGKILL), refuse(errno.EPERM), PASS]


def refuse(error: int) -> Instruction:
    """Return the instruction that lets the call fail with this error number."""
    return (_RETURN, 0, 0, _ERRNO | error)


def refuse_call(call: int, error: int) -> list[Instruction]:
    """Return instructions that let a call fail with this error number."""
    return [(_EQUAL, 0, 1, call), refuse(error)]


def _refuse_if(call: int, argument: int, test: tuple[int, int]) -> list[Instruction]:
    """Refuse a call whose argument passes the test of its lower 32 bits, enough for flags and ids."""
    return [(_EQUAL, 0, 4, call), load_argument(argument), (test[0], 0, 1, test[1]), refuse(errno.EPERM), PASS]


def _refuse_unless(call: int, argument: int, test: tuple[int, int]) -> list[Instruction]:
    return [(_EQUAL, 0, 4, call), load_argument(argument), (test[0], 1, 0, test[1]), refuse(errno.EPERM), PASS]


def _refuse_new_limits(prlimit: int) -> list[Instruction]:
    """Refuse `prlimit64` with a pointer to new limits, which may be for another process; allow reading."""
    low, high = load_argument(2), load_argument(2, half=4)
    return [(_EQUAL, 0, 6, prlimit), low, (_EQUAL, 0, 2, 0), high, (_EQUAL, 1, 0, 0), refuse(errno.EPERM), PASS]


def _refuse_new_limits_of_others(prlimit: int) -> list[Instruction]:
    """Refuse `prlimit64` with new limits for another process than the caller, whose id is given as 0."""
    allow_self = [(_EQUAL, 0, 3, prlimit), load_argument(0), (_EQUAL, 0, 1, 0), PASS]
    reload_number = (_LOAD, 0, 0, _NUMBER)
    return [*allow_self, reload_number, *_refuse_new_limits(prlimit)]


def load_argument(position: int, half: int = 0) -> Instruction:
    """Return the instruction that loads the lower 32 bits of an argument; the upper ones with `half=4`."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * position + half)


def has_filters() -> bool:
    """Return True on Linux on a processor whose system calls are known here."""
    return sys.platform == "linux" and os.uname().machine in PROCESSORS


def install_filter(confinement: Confinement) -> bool:
    """Apply the filter irrevocably to this process; return False if the system has no filters.

    Requires `no_new_privs`. Raises `OSError` if the kernel refuses the filter.
    """
    processor = PROCESSORS.get(os.uname().machine) if sys.platform == "linux" else None
    if processor is None:
        return False
    return install_filter_program(processor, build_filter_program(processor, confinement, os.getpid()))


def install_filter_program(processor: Processor, steps: Sequence[Instruction]) -> bool:
    """Apply BPF instructions irrevocably to this process; return False if the kernel has no filters.

    Raises `OSError` if the kernel refuses them.
    """
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    call = (ctypes.c_long(_SET_MODE_FILTER), ctypes.c_long(_ALL_THREADS), header)
    if libc.syscall(ctypes.c_long(processor.seccomp), *call) == 0:
        return True
    if (problem := ctypes.get_errno()) in {errno.ENOSYS, errno.EINVAL}:
        return False
    raise OSError(problem, os.strerror(problem), "seccomp")
