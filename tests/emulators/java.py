"""A Java program as a child process that ends when this process ends."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_STOP_S = 30
_GUARDED = 'exec 3<&0 </dev/null; (read -r _ <&3; kill -9 $$) & exec 3<&-; exec "$@"'
"""Shell command that becomes the program, with a child that kills it when this process ends.

The child waits for the end of a pipe whose other end only this process holds. Unlike a death signal it works on a Mac,
from any thread, and on a program that is stopped.
"""


def guard_command(command: Sequence[str]) -> list[str]:
    """Return a command that is killed when the process that holds the other end of its stdin ends."""
    return ["/bin/sh", "-c", _GUARDED, "sh", *command]


class JavaProcess:
    """A Java program and its guard in their own session, so that Ctrl-C does not reach them.

    The guard kills the program when this process ends.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                guard_command(command),
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Return the process id of the program, which has replaced its shell."""
        return self._process.pid

    def ended(self) -> bool:
        """Return whether the process has ended."""
        return self._process.poll() is not None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program, not to its guard."""
        self._process.send_signal(number)

    def suspend(self) -> None:
        """Suspend the program, and return once all its threads have stopped."""
        self.send(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def end(self) -> None:
        """Send SIGTERM, wait, then kill the program and its guard."""
        if not self.ended():
            self.send(signal.SIGCONT)
            self.send(signal.SIGTERM)
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
        else:
            self._kill_group()

    def kill(self) -> None:
        """Kill the program and its guard by SIGKILL."""
        self._kill_group()
        self._process.wait(_STOP_S)

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError):  # both are gone already
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._process.stdin is not None:
            self._process.stdin.close()
