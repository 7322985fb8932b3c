"""A filter of system calls (seccomp-bpf), put together by hand: no library, no privilege, no user namespace.

A deny-list: what a metric never needs and an attacker does. Files can be read but not changed, no socket is made,
no process is started or signalled, no other process is touched. Refused calls fail with EPERM, so that a library that
only asks gets an answer.
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from aex_outcomes.confinement import syscalls
from aex_outcomes.confinement.settings import Confinement

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
    """What the filter must know of a processor: its audit number, its call numbers, and that of `seccomp` itself."""

    audit: int
    numbers: dict[str, int]
    seccomp: int


PROCESSORS = {
    "x86_64": Processor(0xC000003E, syscalls.X86_64, 317),
    "aarch64": Processor(0xC00000B7, syscalls.AARCH64, 277),
}

Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand."""

_PASS: Instruction = (_RETURN, 0, 0, _ALLOW)


def program(processor: Processor, confinement: Confinement, pid: int) -> list[Instruction]:
    """The filter for a worker with this process id."""
    refused = [*syscalls.OTHERS, *syscalls.FILES, *syscalls.KERNEL]
    refused += [] if confinement.network else syscalls.NETWORK
    refused += [] if confinement.children else syscalls.CHILDREN
    numbers = processor.numbers
    return [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, processor.audit),
        _refuse(errno.EPERM),
        (_LOAD, 0, 0, _NUMBER),
        (_ABOVE, 0, 1, _X32),
        _refuse(errno.EPERM),
        (_ABOVE, 0, 1, syscalls.NEWEST),
        _refuse(errno.ENOSYS),
        *(step for name in refused if name in numbers for step in _always(numbers[name], errno.EPERM)),
        *_by_argument(numbers, confinement, pid),
        _PASS,
    ]


def _by_argument(numbers: dict[str, int], confinement: Confinement, pid: int) -> Iterator[Instruction]:
    if "open" in numbers:
        yield from _refuse_if(numbers["open"], 1, (_ANY_BIT, _WRITING))
    yield from _refuse_if(numbers["openat"], 2, (_ANY_BIT, _WRITING))
    yield from _always(numbers["openat2"], errno.ENOSYS)  # its flags lie behind a pointer; libc falls back to openat
    yield from _refuse_if(numbers["prctl"], 0, (_EQUAL, _PR_SET_PDEATHSIG))
    if confinement.children:  # its own limits it may set: those of what it starts. None goes above the hard ones
        yield from _refuse_new_limits_of_others(numbers["prlimit64"])
        return
    yield from _refuse_new_limits(numbers["prlimit64"])
    yield from _always(numbers["clone3"], errno.ENOSYS)  # its flags lie behind a pointer; libc falls back to clone
    yield from _refuse_unless(numbers["clone"], 0, (_ANY_BIT, _CLONE_THREAD))
    for name in ("kill", "tgkill"):  # itself alone: abort() must work
        yield from _refuse_unless(numbers[name], 0, (_EQUAL, pid))


def _refuse(number: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | number)


def _always(call: int, error: int) -> list[Instruction]:
    return [(_EQUAL, 0, 1, call), _refuse(error)]


def _refuse_if(call: int, argument: int, test: tuple[int, int]) -> list[Instruction]:
    """Refuse a call whose argument passes the test. Its low half tells all: flags and ids fit in it."""
    return [(_EQUAL, 0, 4, call), _argument(argument), (test[0], 0, 1, test[1]), _refuse(errno.EPERM), _PASS]


def _refuse_unless(call: int, argument: int, test: tuple[int, int]) -> list[Instruction]:
    return [(_EQUAL, 0, 4, call), _argument(argument), (test[0], 1, 0, test[1]), _refuse(errno.EPERM), _PASS]


def _refuse_new_limits(prlimit: int) -> list[Instruction]:
    """Reading limits is harmless; a new limit (a pointer, neither of its halves alone) could be another process's."""
    low, high = _argument(2), _argument(2, half=4)
    return [(_EQUAL, 0, 6, prlimit), low, (_EQUAL, 0, 2, 0), high, (_EQUAL, 1, 0, 0), _refuse(errno.EPERM), _PASS]


def _refuse_new_limits_of_others(prlimit: int) -> list[Instruction]:
    """The same where 0, which is the caller itself, is named as the process: an id fits in the lower half."""
    of_itself = [(_EQUAL, 0, 3, prlimit), _argument(0), (_EQUAL, 0, 1, 0), _PASS]
    number_again = (_LOAD, 0, 0, _NUMBER)
    return [*of_itself, number_again, *_refuse_new_limits(prlimit)]


def _argument(position: int, half: int = 0) -> Instruction:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * position + half)


def install(confinement: Confinement) -> bool:
    """Put the filter on every thread of this process, for good. False where the system has no such filters.

    The caller has set no_new_privs. Raises `OSError` where the kernel has filters and refuses this one.
    """
    processor = PROCESSORS.get(os.uname().machine) if sys.platform == "linux" else None
    if processor is None:
        return False
    steps = program(processor, confinement, os.getpid())
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    call = (ctypes.c_long(_SET_MODE_FILTER), ctypes.c_long(_ALL_THREADS), header)
    if libc.syscall(ctypes.c_long(processor.seccomp), *call) == 0:
        return True
    problem = ctypes.get_errno()
    if problem in {errno.ENOSYS, errno.EINVAL}:
        return False
    raise OSError(problem, os.strerror(problem), "seccomp")
