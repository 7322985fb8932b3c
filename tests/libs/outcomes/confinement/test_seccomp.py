import errno
import os
import re
from pathlib import Path

import pytest

from aex_outcomes.confinement import seccomp
from aex_outcomes.confinement.seccomp import PROCESSORS, Processor, build_filter_program
from aex_outcomes.confinement.settings import Confinement

PID = 4242
ALLOW = 0x7FFF0000
HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")


def verdict(processor: Processor, name: str, *arguments: int, confinement: Confinement | None = None) -> int:
    """The errno that the filter answers a call with; 0 where it goes through."""
    return run(processor, processor.numbers[name], arguments, confinement or Confinement(), processor.audit)


def run(processor: Processor, number: int, arguments: tuple[int, ...], confinement: Confinement, audit: int) -> int:
    words = {0: number, 4: audit}
    for position, argument in enumerate(arguments):
        words[16 + 8 * position] = argument & 0xFFFFFFFF
        words[20 + 8 * position] = argument >> 32
    steps = build_filter_program(processor, confinement, PID)
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        match code:
            case 0x20:
                accumulator = words[operand]
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x25:
                at += if_true if accumulator > operand else if_false
            case 0x45:
                at += if_true if accumulator & operand else if_false
            case 0x06:
                return 0 if operand == ALLOW else operand & 0xFFFF
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


@pytest.fixture(params=sorted(PROCESSORS))
def processor(request: pytest.FixtureRequest) -> Processor:
    return PROCESSORS[request.param]


def test_every_listed_call_is_refused(processor: Processor) -> None:
    for name in (*seccomp.NETWORK, *seccomp.CHILDREN, *seccomp.OTHERS, *seccomp.FILES, *seccomp.KERNEL):
        if name in processor.numbers:
            assert verdict(processor, name) == errno.EPERM, name


def test_calls_that_are_not_listed_go_through(processor: Processor) -> None:
    listed = set(processor.numbers.values())
    for number in range(seccomp.NEWEST + 1):
        if number not in listed:
            assert run(processor, number, (), Confinement(), processor.audit) == 0, number


def test_files_may_be_read_and_not_written(processor: Processor) -> None:
    assert verdict(processor, "openat", 0, 0, os.O_RDONLY | os.O_CLOEXEC) == 0
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_APPEND, os.O_RDWR | os.O_CLOEXEC):
        assert verdict(processor, "openat", 0, 0, flags) == errno.EPERM
        if "open" in processor.numbers:
            assert verdict(processor, "open", 0, flags) == errno.EPERM


def test_a_worker_without_files_opens_none(processor: Processor) -> None:
    closed = Confinement(files=False)
    for name in set(seccomp.PATHS) & set(processor.numbers):
        assert verdict(processor, name, 0, 0, 0, confinement=closed) == errno.EPERM
    assert verdict(processor, "openat2", confinement=closed) == errno.ENOSYS


def test_threads_may_be_started_and_processes_not(processor: Processor) -> None:
    assert verdict(processor, "clone", 0x003D0F00) == 0
    assert verdict(processor, "clone", 0x01200011) == errno.EPERM
    assert verdict(processor, "clone3") == errno.ENOSYS


def test_a_worker_may_signal_itself_alone(processor: Processor) -> None:
    for name in ("kill", "tgkill"):
        assert verdict(processor, name, PID) == 0
        for other in (1, PID + 1, 0, 0xFFFFFFFF, 0xFFFFFFFF - PID + 1):
            assert verdict(processor, name, other) == errno.EPERM


def test_limits_may_be_read_and_not_set_whatever_the_address_of_the_new_ones(processor: Processor) -> None:
    assert verdict(processor, "prlimit64", 1, 7, 0) == 0
    for pointer in (0x7FFC_1234_5678, 0x1_0000_0000, 0x1000):
        assert verdict(processor, "prlimit64", 1, 7, pointer) == errno.EPERM


def test_a_worker_that_starts_processes_may_bound_itself_and_no_other(processor: Processor) -> None:
    parent = Confinement(children=True)
    assert verdict(processor, "prlimit64", 0, 9, 0x7FFC_1234_5678, confinement=parent) == 0
    assert verdict(processor, "prlimit64", 1, 9, 0, confinement=parent) == 0
    for other in (1, PID, 0xFFFFFFFF):
        assert verdict(processor, "prlimit64", other, 9, 0x7FFC_1234_5678, confinement=parent) == errno.EPERM
    assert verdict(processor, "openat", 0, 0, os.O_WRONLY, confinement=parent) == errno.EPERM
    assert verdict(processor, "socket", confinement=parent) == errno.EPERM


def test_the_death_of_the_service_stays_deadly(processor: Processor) -> None:
    assert verdict(processor, "prctl", 1, 0) == errno.EPERM
    assert verdict(processor, "prctl", 15, 0) == 0


def test_calls_younger_than_the_list_and_calls_of_another_architecture_are_refused(processor: Processor) -> None:
    plain = Confinement()
    assert run(processor, seccomp.NEWEST + 1, (), plain, processor.audit) == errno.ENOSYS
    assert run(processor, 0x40000000 + 59, (), plain, processor.audit) == errno.EPERM
    assert run(processor, 0, (), plain, 0x40000003) == errno.EPERM


def test_what_is_granted_is_granted_and_nothing_else(processor: Processor) -> None:
    trusted = Confinement(network=True, children=True)
    for name in ("socket", "connect", "execve", "clone", "clone3", "kill"):
        assert verdict(processor, name, 1, confinement=trusted) == 0, name
    for name in ("ptrace", "io_uring_setup", "unlinkat", "bpf"):
        assert verdict(processor, name, confinement=trusted) == errno.EPERM


def test_the_filter_is_within_the_kernels_bounds(processor: Processor) -> None:
    steps = build_filter_program(processor, Confinement(), PID)
    assert len(steps) <= 4096
    assert all(0 <= jump < len(steps) - at for at, (_, *jumps, _) in enumerate(steps) for jump in jumps)


@pytest.mark.skipif(not HEADER.exists(), reason="the kernel's headers are not installed")
def test_the_numbers_are_the_kernels() -> None:
    official = {
        name: int(number)
        for name, number in re.findall(r"#define __NR_(\w+) (\d+)", HEADER.read_text(encoding="ascii"))
    }
    assert {name: official[name] for name in seccomp.X86_64} == seccomp.X86_64
    named = {*seccomp.NETWORK, *seccomp.CHILDREN, *seccomp.OTHERS, *seccomp.FILES, *seccomp.KERNEL}
    assert named <= set(seccomp.X86_64)
    assert set(seccomp.AARCH64) <= set(seccomp.X86_64)
