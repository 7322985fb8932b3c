"""Filter of the system calls of a process that only computes and uses the descriptors that it has.

It allows memory, own descriptors, clocks and threads. Files, sockets, processes and signals to others are refused.
It is added to the filter of `seccomp`, which the process inherits from its worker.
"""

import errno
from collections.abc import Iterator

from aex_outcomes.confinement.seccomp import (
    PASS,
    PROCESSORS,
    Instruction,
    Processor,
    build_architecture_check,
    load_argument,
    parse_call_numbers,
    refuse,
    refuse_call,
)

_X86_64 = parse_call_numbers(
    "read:0 write:1 close:3 fstat:5 poll:7 lseek:8 mmap:9 mprotect:10 munmap:11 brk:12 rt_sigaction:13 "
    "rt_sigprocmask:14 rt_sigreturn:15 pread64:17 readv:19 writev:20 select:23 sched_yield:24 mremap:25 madvise:28 "
    "nanosleep:35 getpid:39 exit:60 getcwd:79 gettimeofday:96 getrusage:98 times:100 getuid:102 getgid:104 geteuid:107 "
    "getegid:108 getppid:110 sigaltstack:131 gettid:186 time:201 futex:202 sched_getaffinity:204 restart_syscall:219 "
    "clock_gettime:228 clock_getres:229 clock_nanosleep:230 exit_group:231 pselect6:270 ppoll:271 "
    "set_robust_list:273 getrandom:318 membarrier:324 rseq:334"
)
_AARCH64 = parse_call_numbers(
    "getcwd:17 read:63 write:64 close:57 fstat:80 lseek:62 mmap:222 mprotect:226 munmap:215 brk:214 rt_sigaction:134 "
    "rt_sigprocmask:135 rt_sigreturn:139 pread64:67 readv:65 writev:66 sched_yield:124 mremap:216 madvise:233 "
    "nanosleep:101 getpid:172 exit:93 gettimeofday:169 getrusage:165 times:153 getuid:174 getgid:176 geteuid:175 "
    "getegid:177 getppid:173 sigaltstack:132 gettid:178 futex:98 sched_getaffinity:123 restart_syscall:128 "
    "clock_gettime:113 clock_getres:114 clock_nanosleep:115 exit_group:94 pselect6:72 ppoll:73 set_robust_list:99 "
    "getrandom:278 membarrier:283 rseq:293"
)
_ALLOWED = {"x86_64": _X86_64, "aarch64": _AARCH64}
_FSTATAT = {"x86_64": 262, "aarch64": 79}
_IOCTL = {"x86_64": 16, "aarch64": 29}
_AT_EMPTY_PATH = 0x1000
_CLONE_THREAD = 0x00010000
_EQUAL, _ANY_BIT = 0x15, 0x45


def build_computing_filter(machine: str) -> list[Instruction]:
    """Return the BPF instructions for a machine, as `os.uname` names it.

    Raises `KeyError` for an unknown machine.
    """
    processor = PROCESSORS[machine]
    return [
        *build_architecture_check(processor),
        *(step for number in _ALLOWED[machine].values() for step in _allow(number)),
        *_allowed_by_argument(machine, processor),
        refuse(errno.EPERM),
    ]


def _allowed_by_argument(machine: str, processor: Processor) -> Iterator[Instruction]:
    numbers = processor.numbers
    yield from refuse_call(_IOCTL[machine], errno.ENOTTY)  # the check for a terminal, which there is none
    yield from refuse_call(numbers["clone3"], errno.ENOSYS)  # the C library uses clone, whose flags can be read
    yield from _allow_if(numbers["clone"], 0, (_ANY_BIT, _CLONE_THREAD))
    # The C library's fstat is this call with an empty path and this flag alone. A filter cannot read the path:
    # native code may so learn that a file exists, but can neither open it nor list a folder.
    yield from _allow_if(_FSTATAT[machine], 3, (_EQUAL, _AT_EMPTY_PATH))
    low, high = load_argument(2), load_argument(2, half=4)  # prlimit64: reading, without a pointer to new limits
    yield from [(_EQUAL, 0, 6, numbers["prlimit64"]), low, (_EQUAL, 0, 3, 0), high, (_EQUAL, 0, 1, 0), PASS]
    yield refuse(errno.EPERM)


def _allow(number: int) -> list[Instruction]:
    return [(_EQUAL, 0, 1, number), PASS]


def _allow_if(number: int, argument: int, test: tuple[int, int]) -> list[Instruction]:
    """Allow a call whose argument passes the test of its lower 32 bits; refuse it otherwise."""
    check = [load_argument(argument), (test[0], 0, 1, test[1]), PASS]
    return [(_EQUAL, 0, 4, number), *check, refuse(errno.EPERM)]
