"""A service as a child process, with its log file and a pipe that closes when the supervisor ends."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aex_cli.suite.service_spec import ServiceSpec, build_process_environment

KEEP_BYTES = 10 * 1024 * 1024
PARENT_FD = "AEX_PARENT_FD"
_TAIL_BYTES = 16_384


def rotate_large_log(path: Path) -> int:
    """Rename a log file above 10 MiB to `*.1`, and return the byte offset at which the next run begins.

    Call it before a run, so that all lines of a run are in one file.
    """
    size = path.stat().st_size if path.exists() else 0
    if size > KEEP_BYTES:
        path.replace(path.with_name(f"{path.name}.1"))
        size = 0
    return size


def read_log_tail(path: Path, start: int, lines: int = 20) -> str:
    """Return the last lines of a log file after byte `start`; empty if the file is missing."""
    if not path.exists():
        return ""
    with path.open("rb") as log:
        end = log.seek(0, 2)
        log.seek(max(start, end - _TAIL_BYTES))
        text = log.read().decode(errors="replace")
    return "\n".join(text.splitlines()[-lines:])


@dataclass(frozen=True, slots=True)
class Launch:
    """The common settings of all child processes: environment, log folder, inherited file descriptors."""

    environment: Mapping[str, str]
    logs: Path
    inherit: Sequence[int] = ()

    def log_path(self, spec: ServiceSpec) -> Path:
        return self.logs / f"{spec.label}.log"


class ServiceProcess:
    """A running service process. It ends itself when the supervisor's end of its pipe closes."""

    def __init__(self, spec: ServiceSpec, process: asyncio.subprocess.Process, pipe: int, log: Path, log_start: int):
        self.spec = spec
        self.log = log
        self._process = process
        self._pipe = pipe
        self._log_start = log_start
        self.exit = asyncio.create_task(self._reap(), name=f"exit of {spec.label}")
        """Task with the exit code (negative for a signal). It ends once the process and its children have ended."""

    @classmethod
    async def start(cls, spec: ServiceSpec, specs: Sequence[ServiceSpec], launch: Launch) -> "ServiceProcess":
        """Start the module of `spec`, rotate its log, and return the process.

        `specs`: all services of the suite, whose URLs the process gets. The process inherits only the read end of its
        pipe, and the descriptors of `launch`.
        """
        log = launch.log_path(spec)
        log_start = rotate_large_log(log)
        read_end, write_end = os.pipe()
        environment = {**build_process_environment(spec, specs, launch.environment), PARENT_FD: str(read_end)}
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", spec.module),
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                pass_fds=(read_end, *launch.inherit),
            )
        except BaseException:
            os.close(write_end)
            raise
        finally:
            os.close(out)
            os.close(read_end)
        return cls(spec, process, write_end, log, log_start)

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its session and process group."""
        return self._process.pid

    def terminate(self) -> None:
        """Send SIGTERM, unless the process has ended. The service then drains and stops its workers."""
        if not self.exit.done():
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL to the process and its children, unless it has ended."""
        if not self.exit.done():
            self._signal_group(signal.SIGKILL)

    def read_log_tail(self) -> str:
        """Return the last lines that this process has logged."""
        return read_log_tail(self.log, self._log_start)

    async def _reap(self) -> int:
        code = await self._process.wait()
        self._signal_group(signal.SIGKILL)
        os.close(self._pipe)
        return code

    def _signal_group(self, signal_number: int) -> None:
        # PermissionError: macOS raises it for a group without members.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal_number)


def describe_exit(code: int) -> str:
    """Return `exit code 3`, or for a negative code the name of the signal, such as `SIGKILL`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
