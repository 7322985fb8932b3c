"""One service as a child process: a session of its own, a pipe that closes when we die, a log file."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aex_cli.suite.environment import process_environment
from aex_cli.suite.logs import begin_run, tail
from aex_cli.suite.service_spec import ServiceSpec

PARENT_FD = "AEX_PARENT_FD"


@dataclass(frozen=True, slots=True)
class Launch:
    """What every child is started with: their common environment, log folder, and open files that it holds on to."""

    environment: Mapping[str, str]
    logs: Path
    inherit: Sequence[int] = ()

    def log_of(self, spec: ServiceSpec) -> Path:
        """Where this process logs."""
        return self.logs / f"{spec.label}.log"


class Child:
    """A running service. It ends by itself when the pipe that this process holds closes."""

    def __init__(self, spec: ServiceSpec, process: asyncio.subprocess.Process, pipe: int, log: Path, log_start: int):
        self.spec = spec
        self.log = log
        self._process = process
        self._pipe = pipe
        self._log_start = log_start
        self.exit = asyncio.create_task(self._reap(), name=f"exit of {spec.label}")
        """Done with the exit code (negative: a signal) once the process and all it left running are gone."""

    @classmethod
    async def start(cls, spec: ServiceSpec, specs: Sequence[ServiceSpec], launch: Launch) -> "Child":
        """Start `python -m module` as one of `specs`.

        Both ends of the pipe are closed on exec but for the one the child reads.
        """
        log = launch.log_of(spec)
        log_start = begin_run(log)
        read_end, write_end = os.pipe()
        environment = {**process_environment(spec, specs, launch.environment), PARENT_FD: str(read_end)}
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
        """Its process id, which is also its session and process group."""
        return self._process.pid

    def terminate(self) -> None:
        """Ask it to drain and stop; it looks after its own workers."""
        if not self.exit.done():
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    def kill(self) -> None:
        """End it and all it started, at once."""
        if not self.exit.done():
            self._signal_group(signal.SIGKILL)

    def tail(self) -> str:
        """The last lines that this run logged."""
        return tail(self.log, self._log_start)

    async def _reap(self) -> int:
        code = await self._process.wait()
        self._signal_group(signal.SIGKILL)
        os.close(self._pipe)
        return code

    def _signal_group(self, signal_number: int) -> None:
        # PermissionError: macOS says so of a group whose members are all gone.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal_number)


def describe_exit(code: int) -> str:
    """`exit code 3`, or `SIGKILL`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
