"""Zygote process: imports the allowed modules, and forks a confined process on each command.

It reads no test and no program: a command of the worker gives it descriptors, from which the forked process reads its
data. Commands are packets of JSON on a socket. `{"role", "memory_mb", "cpu_s"}` with descriptors forks a process, and
is answered by `{"pid"}`. `{"reap": pid, "wait_s"}` kills one after that time, and is answered by `{"status"}`.
`{"discard": pid}` kills one whose status does not matter, and is answered at once.
"""

import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from aex_outcomes.confinement.lockdown import exit_with_parent, measure_address_space
from aex_outcomes.confinement.seccomp import PROCESSORS, install_filter_program
from aex_outcomes.confinement.seccomp_computing import build_computing_filter
from aex_outcomes.testing.allowed_modules import import_allowed_modules, remove_other_modules
from aex_outcomes.testing.candidate import run_candidate, run_program
from aex_outcomes.testing.tester import run_tester

MAX_PACKET_BYTES = 4_096
_MAX_DESCRIPTORS = 4
_FIRST_DESCRIPTOR = 3
_OPEN_FILES = 16
_PROGRAM_ERROR = 1
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_POLL_S = 0.001

_ROLES: Mapping[str, Callable[..., None]] = {
    "candidate": run_candidate,
    "tester": run_tester,
    "program": run_program,
}
"""Main function of each kind of process; its arguments are its descriptors."""
CONFINED = b"\x01"
"""First byte on a process's connection to the worker: from here on it is confined, and runs code that is not ours."""
PROGRAM_ROLE = "program"
"""Role of a process whose first two descriptors are its standard input and output."""


def main(descriptor: int, parent_pid: int) -> None:
    """Run the zygote until the worker closes the control socket. `descriptor`: that socket."""
    exit_with_parent(parent_pid)
    sys.setrecursionlimit(sys.getrecursionlimit() + 50)  # the frames of our own functions
    import_allowed_modules()
    remove_other_modules()
    gc.collect()
    gc.freeze()  # the forked processes share these objects' memory as long as no collection visits them
    control = socket.socket(fileno=descriptor)
    own_pid = os.getpid()
    control.send(json.dumps({"ready": True}).encode())
    discarded: set[int] = set()
    while True:
        while discarded and not select.select([control], [], [], _POLL_S)[0]:
            discarded = {pid for pid in discarded if os.waitpid(pid, os.WNOHANG) == (0, 0)}
        packet, descriptors, _, _ = socket.recv_fds(control, MAX_PACKET_BYTES, _MAX_DESCRIPTORS)
        if not packet:
            return
        command = json.loads(packet)
        if "reap" in command:
            control.send(json.dumps({"status": reap(command["reap"], command["wait_s"])}).encode())
            continue
        if "discard" in command:
            os.kill(command["discard"], signal.SIGKILL)
            discarded.add(command["discard"])
            control.send(b"{}")
            continue
        pid = os.fork()
        if pid == 0:
            run_forked_process(command, descriptors, own_pid)
        for each in descriptors:
            os.close(each)
        control.send(json.dumps({"pid": pid}).encode())


def reap(pid: int, wait_s: float) -> int:
    """Wait for the end of a forked process, and kill it after `wait_s` seconds.

    Return its exit code; a signal gives a negative number. A process that had ended before keeps its own code.
    """
    deadline = time.monotonic() + wait_s
    while wait_s > 0:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            break
        time.sleep(_POLL_S)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run_forked_process(command: Mapping[str, object], descriptors: Sequence[int], zygote_pid: int) -> NoReturn:
    """Confine this process, run the main function of its role, and exit."""
    status = _PROGRAM_ERROR
    try:
        role = str(command["role"])
        own = keep_descriptors(descriptors, with_standard_streams=role == PROGRAM_ROLE)
        confine_process(zygote_pid, int(str(command["memory_mb"])), int(str(command["cpu_s"])))
        os.write(own[-1], CONFINED)
        _ROLES[role](*own)
        status = 0
    except SystemExit as error:
        code = error.code
        status = code if isinstance(code, int) else 0 if code is None else 1
    except BaseException:  # noqa: BLE001 the exit status reports it, as Python does for a program
        status = _PROGRAM_ERROR
    finally:
        os._exit(status & 0xFF)


def keep_descriptors(descriptors: Sequence[int], *, with_standard_streams: bool) -> list[int]:
    """Move the descriptors to the numbers from 3 on, close all others, and return the new numbers.

    With `with_standard_streams` the first two become standard input and output, and are not returned.
    """
    high = [os.dup(each) for each in descriptors]
    first = 0 if with_standard_streams else _FIRST_DESCRIPTOR
    targets = [first + index if index < 2 or not with_standard_streams else index + 1 for index in range(len(high))]
    for source, target in zip(high, targets, strict=True):
        os.dup2(source, target, inheritable=False)
    os.closerange(max(targets) + 1, os.sysconf("SC_OPEN_MAX"))  # also the control socket, whatever its number
    return [each for each in targets if each >= _FIRST_DESCRIPTOR]


def confine_process(parent_pid: int, memory_mb: int, cpu_s: int) -> None:
    """Limit memory and processor time of this process, and refuse all system calls but those of computing.

    Raises `OSError` if the kernel refuses a step, so that nothing runs unconfined.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0 or os.getppid() != parent_pid:
        raise OSError("no signal at the end of the parent process")
    used = measure_address_space()
    if used is None:
        raise OSError("no figure of the used memory")
    bounds = {
        resource.RLIMIT_AS: (used + (memory_mb << 20),) * 2,
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),  # SIGXCPU, then SIGKILL
        resource.RLIMIT_NOFILE: (_OPEN_FILES,) * 2,
        resource.RLIMIT_CORE: (0, 0),
    }
    for limit, (soft, hard) in bounds.items():
        inherited = resource.getrlimit(limit)[1]
        highest = hard if inherited == resource.RLIM_INFINITY else min(hard, inherited)
        resource.setrlimit(limit, (min(soft, highest), highest))
    machine = os.uname().machine
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if not install_filter_program(PROCESSORS[machine], build_computing_filter(machine)):
        raise OSError("no filter of system calls")
