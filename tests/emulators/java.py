"""A Java program as a process that does not outlive this one."""

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


def guarded(command: Sequence[str]) -> list[str]:
    """Return a command that is killed when the process that holds the other end of its stdin ends."""
    return ["/bin/sh", "-c", _GUARDED, "sh", *command]


class JavaProcess:
    """The program and its guard, in a session of their own: Ctrl-C on the terminal is not for them."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                guarded(command),
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The program's own: the shell has become it."""
        return self._process.pid

    def ended(self) -> bool:
        """Return whether the process has ended."""
        return self._process.poll() is not None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program alone."""
        self._process.send_signal(number)

    def stand_still(self) -> None:
        """Stop the program; every thread of it stands when this returns."""
        self.send(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def end(self) -> None:
        """Ask it to end, then kill it and its guard."""
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
        """Kill it as a power cut would."""
        self._kill_group()
        self._process.wait(_STOP_S)

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError):  # both are gone already
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._process.stdin is not None:
            self._process.stdin.close()
