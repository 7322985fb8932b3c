"""Client of the zygote process in its worker: start by exec, commands over a socket, and end."""

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from aex_outcomes.confinement.lockdown import null_stream
from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_outcomes.testing.zygote import MAX_PACKET_BYTES

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from aex_outcomes.testing.zygote import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1"}
"""Complete environment of the zygote: sets of texts have the same order in every process."""
_START_S = 30.0
_ANSWER_S = 10.0


class ZygoteProcess:
    """Running zygote; it forks processes that only the holder of their descriptors can reach."""

    def __init__(self, answer_s: float = _ANSWER_S) -> None:
        """Start the process and wait until it is ready. Raises `SandboxUnavailable`.

        `answer_s`: seconds after which a process that does not answer a command is killed.
        """
        self._answer_s = answer_s
        self._control, other_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other_end:
            try:
                self._process = _execute(other_end.fileno())
            except OSError as error:
                self._control.close()
                raise SandboxUnavailable(f"no process for tests: {error.strerror}") from None
        self._answer(_START_S)

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def fork(self, role: str, descriptors: Sequence[int], *, memory_mb: int, cpu_s: int) -> int:
        """Fork a confined process with these descriptors and return its id. Raises `SandboxUnavailable`."""
        command = json.dumps({"role": role, "memory_mb": memory_mb, "cpu_s": cpu_s}).encode()
        return self._command(command, descriptors, self._answer_s)["pid"]

    def reap(self, pid: int, wait_s: float = 0) -> int:
        """Wait for the end of a forked process, kill it after `wait_s` seconds, and return its exit code.

        A signal gives a negative number. Raises `SandboxUnavailable`.
        """
        packet = json.dumps({"reap": pid, "wait_s": wait_s}).encode()
        return self._command(packet, (), wait_s + self._answer_s)["status"]

    def discard(self, pid: int) -> None:
        """Kill a forked process without waiting for its end. Raises `SandboxUnavailable`."""
        self._command(json.dumps({"discard": pid}).encode(), (), self._answer_s)

    def close(self) -> None:
        """Kill the process and all that it has forked, and wait for its end."""
        self._control.close()
        self._process.kill()
        self._process.wait()

    def _command(self, packet: bytes, descriptors: Sequence[int], timeout_s: float) -> dict[str, int]:
        try:
            socket.send_fds(self._control, [packet], list(descriptors))
        except OSError as error:
            raise SandboxUnavailable(f"the process for tests has ended: {error.strerror}") from None
        return self._answer(timeout_s)

    def _answer(self, timeout_s: float) -> dict[str, int]:
        """Return the answer to the last command.

        A zygote without one is killed: its late answer would be read as that of the next command.
        """
        try:
            return self._receive_answer(timeout_s)
        except SandboxUnavailable:
            self.close()
            raise

    def _receive_answer(self, timeout_s: float) -> dict[str, int]:
        if not select.select([self._control], [], [], timeout_s)[0]:
            raise SandboxUnavailable(f"the process for tests does not answer within {timeout_s:g} s")
        try:
            packet = self._control.recv(MAX_PACKET_BYTES)
        except OSError:
            packet = b""
        if not packet:
            raise SandboxUnavailable("the process for tests has ended")
        answer: dict[str, int] = json.loads(packet)
        return answer


def _execute(descriptor: int) -> "subprocess.Popen[bytes]":
    paths = json.dumps([str(Path(entry).absolute()) for entry in sys.path])
    command = [sys.executable, "-s", "-P", "-B", "-c", _BOOT, paths, str(descriptor), str(os.getpid())]
    stream = null_stream()
    return subprocess.Popen(  # noqa: S603 our own interpreter and code
        command,
        stdin=stream,
        stdout=stream,
        stderr=stream,
        cwd="/",
        env=_ENVIRONMENT,
        pass_fds=(descriptor,),
    )
