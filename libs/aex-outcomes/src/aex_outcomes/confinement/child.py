"""A worker process: started by exec, answers over a socket pair, killed with its process group."""

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Protocol, cast

from aex_outcomes.confinement import frames
from aex_outcomes.confinement.settings import Setup

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from aex_outcomes.confinement.worker import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)
"""Isolated (-I: no PYTHON* variables, no working directory), with the import path of the service."""
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""The complete environment: no secret of the service; one thread per library, since stacks count as memory."""

_REAP_S = 0.001
_REAP_MAX_S = 0.05


class StartFailed(Exception):
    """A worker that did not become ready; the message gives the reason."""


class WorkerListener(Protocol):
    """Callbacks of a worker."""

    def on_answer(self, child: "WorkerProcess", body: bytes) -> None:
        """Receive a complete answer. The worker waits for the next request."""
        ...

    def on_loss(self, child: "WorkerProcess", reason: str) -> None:
        """Handle a closed connection or unrequested bytes. Called once, and never after `kill`."""
        ...


class WorkerProcess(asyncio.Protocol):
    """A worker process; belongs to the event loop that started it."""

    def __init__(self, process: subprocess.Popen[bytes], answer_limit: int, listener: WorkerListener) -> None:
        self.jobs = 0
        """Requests sent so far."""
        self._process = process
        self._reader = frames.FrameReader(answer_limit)
        self.listener = listener
        self._transport: asyncio.Transport | None = None
        self._awaits_answer = False
        self._is_over = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, body: bytes) -> None:
        """Send a request; the listener gets the answer. Wait for that before the next request."""
        self._awaits_answer = True
        self.jobs += 1
        if self._transport is not None:
            self._transport.write(frames.add_length_prefix(body))

    def kill(self) -> None:
        """Kill the process and its group at once. Repeated calls do nothing."""
        self._is_over = True
        if self._transport is not None:
            self._transport.abort()
        if self._process.returncode is None:  # not reaped yet, so that its id is not reused
            with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: PermissionError for a dead group
                os.killpg(self.pid, signal.SIGKILL)

    async def reap(self) -> int:
        """Kill the process and wait for its end. Return its exit status, negative for a signal."""
        self.kill()
        pause = _REAP_S
        while (status := self._process.poll()) is None:
            await asyncio.sleep(pause)
            pause = min(2 * pause, _REAP_MAX_S)
        return status

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        try:
            body = self._reader.feed(data)
            if not self._awaits_answer:
                raise frames.BrokenFrame("unrequested bytes")  # noqa: TRY301 one way out for all
        except frames.BrokenFrame as error:
            self._lose(str(error))
            return
        if body is not None:
            self._awaits_answer = False
            self.listener.on_answer(self, body)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose("the worker ended" if exc is None else f"the worker ended ({type(exc).__name__})")

    def _lose(self, reason: str) -> None:
        if not self._is_over:
            self._is_over = True
            self.listener.on_loss(self, reason)


class _Greeting:
    """The listener of a worker that is not ready yet."""

    def __init__(self) -> None:
        self.body: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def on_answer(self, child: WorkerProcess, body: bytes) -> None:
        del child
        if not self.body.done():
            self.body.set_result(body)

    def on_loss(self, child: WorkerProcess, reason: str) -> None:
        del child
        if not self.body.done():
            self.body.set_exception(StartFailed(reason))
            self.body.exception()  # retrieved: a cancelled `start_worker` does not await it


async def start_worker(
    setup: Setup, answer_limit: int, listener: WorkerListener, timeout_s: float
) -> tuple[WorkerProcess, tuple[str, ...]]:
    """Start a worker and wait until it is warm; return it with the bounds that its system lacks.

    Raises `StartFailed`; leaves no process behind, also when cancelled.
    """
    greeting = _Greeting()
    child = await _spawn(answer_limit, greeting)
    try:
        child.send(frames.encode(dataclasses.asdict(setup)))
        async with asyncio.timeout(timeout_s):
            missing = _read_greeting(await greeting.body)
    except BaseException as error:
        await _reap(child)
        if isinstance(error, TimeoutError):
            raise StartFailed(f"not ready after {timeout_s} s") from None
        raise
    child.jobs = 0
    child.listener = listener
    return child, missing


async def _spawn(answer_limit: int, listener: WorkerListener) -> WorkerProcess:
    own_end, worker_end = socket.socketpair()
    with worker_end:
        try:
            process = _execute(worker_end.fileno())
        except OSError as error:
            own_end.close()
            raise StartFailed(f"no process: {error.strerror}") from None
    child = WorkerProcess(process, answer_limit, listener)
    try:
        await asyncio.get_running_loop().create_unix_connection(lambda: child, sock=own_end)
    except BaseException:
        own_end.close()
        await _reap(child)
        raise
    return child


async def _reap(child: WorkerProcess) -> None:
    """Wait for a process's end, also when cancelled."""
    reaping = asyncio.create_task(child.reap())
    try:
        await asyncio.shield(reaping)
    except asyncio.CancelledError:
        await reaping
        raise


def _execute(descriptor: int) -> subprocess.Popen[bytes]:
    """Start the process from the calling thread.

    Linux kills it (PR_SET_PDEATHSIG) when that thread ends, so a thread of an executor must not start workers.
    """
    paths = json.dumps([str(Path(entry).absolute()) for entry in sys.path])
    command = [sys.executable, "-I", "-B", "-c", _BOOT, paths, str(descriptor), str(os.getpid())]
    return subprocess.Popen(  # noqa: S603 our own interpreter and code
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=_ENVIRONMENT,
        start_new_session=True,
        pass_fds=(descriptor,),
    )


def _read_greeting(body: bytes) -> tuple[str, ...]:
    try:
        match frames.decode(body):
            case {"ready": True, "missing": [*missing]}:
                return tuple(map(str, missing))
            case {"failed": {"kind": str(kind), "message": str(message)}}:
                raise StartFailed(f"{kind}: {message}")
            case _:
                raise StartFailed("an unknown greeting")
    except frames.BrokenFrame as error:
        raise StartFailed(str(error)) from None
