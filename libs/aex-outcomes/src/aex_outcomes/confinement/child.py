"""Worker process as its parent sees it: started by exec, asked over a socket pair, and killed at need."""

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
from typing import NamedTuple, Protocol, cast

from aex_outcomes.confinement import frames
from aex_outcomes.confinement.lockdown import null_stream
from aex_outcomes.confinement.settings import Setup

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from aex_outcomes.confinement.worker import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)
"""Program of a worker; it runs isolated (`-I`), with the import path of the parent."""
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Complete environment of a worker, without secrets; libraries use one thread, because stacks count as memory."""

_REAP_S = 0.001
_REAP_MAX_S = 0.05


class StartFailed(Exception):
    """Error of a worker that did not become ready; the message gives the reason."""


class WorkerListener(Protocol):
    """Listener that a worker process calls on its events."""

    def on_answer(self, child: "WorkerProcess", body: bytes) -> None:
        """Receive a complete answer; the worker then waits for the next request."""
        ...

    def on_loss(self, child: "WorkerProcess", reason: str) -> None:
        """Handle a worker whose connection closed or that sent invalid bytes; called once, never after `kill`."""
        ...


class WorkerProcess(asyncio.Protocol):
    """Running worker process; it belongs to the event loop that started it."""

    def __init__(self, process: subprocess.Popen[bytes], max_answer_bytes: int, listener: WorkerListener) -> None:
        self.jobs = 0
        """Number of requests sent so far."""
        self._process = process
        self._reader = frames.FrameReader(max_answer_bytes)
        self.listener = listener
        self._transport: asyncio.Transport | None = None
        self._awaits_answer = False
        self._is_over = False

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def send(self, body: bytes) -> None:
        """Send a request, whose answer the listener gets; send the next one only after the answer."""
        self._awaits_answer = True
        self.jobs += 1
        if self._transport is not None:
            self._transport.write(frames.add_length_prefix(body))

    def kill(self) -> None:
        """Kill the process and its process group at once, without waiting; repeated calls do nothing."""
        self._is_over = True
        if self._transport is not None:
            self._transport.abort()
        if self._process.returncode is None:  # not reaped yet, so that its id is not reused
            with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: PermissionError for a dead group
                os.killpg(self.pid, signal.SIGKILL)

    async def reap(self) -> int:
        """Kill the process, wait for its end, and return its exit status, negative for a signal."""
        self.kill()
        pause = _REAP_S
        while (status := self._process.poll()) is None:
            await asyncio.sleep(pause)
            pause = min(2 * pause, _REAP_MAX_S)
        return status

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport to send requests."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Pass a complete answer to the listener; report invalid or unrequested bytes as a loss."""
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
        """Report the loss to the listener, unless the worker was killed."""
        self._lose("the worker ended" if exc is None else f"the worker ended ({type(exc).__name__})")

    def _lose(self, reason: str) -> None:
        if not self._is_over:
            self._is_over = True
            self.listener.on_loss(self, reason)


class _Greeting:
    """Listener of a worker that is not ready yet; `body` is its first answer."""

    def __init__(self) -> None:
        self.body: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def on_answer(self, child: WorkerProcess, body: bytes) -> None:
        """Set the result."""
        del child
        if not self.body.done():
            self.body.set_result(body)

    def on_loss(self, child: WorkerProcess, reason: str) -> None:
        """Set `StartFailed` as the exception."""
        del child
        if not self.body.done():
            self.body.set_exception(StartFailed(reason))
            self.body.exception()  # retrieved: a cancelled `start_worker` does not await it


class StartedWorker(NamedTuple):
    """Worker process that is ready for jobs."""

    process: WorkerProcess
    missing_confinement: tuple[str, ...]
    """Names of the confinement steps that its system lacks."""


async def start_worker(
    setup: Setup, max_answer_bytes: int, listener: WorkerListener, timeout_s: float
) -> StartedWorker:
    """Start a worker process and wait until it has imported its jobs and confined itself.

    Raises `StartFailed`, also if it is not ready after `timeout_s`. No process remains after an error or a
    cancellation.
    """
    greeting = _Greeting()
    child = await _spawn(max_answer_bytes, greeting)
    try:
        child.send(frames.encode_json(dataclasses.asdict(setup)))
        async with asyncio.timeout(timeout_s):
            missing = _read_greeting(await greeting.body)
    except BaseException as error:
        await _reap(child)
        if isinstance(error, TimeoutError):
            raise StartFailed(f"not ready after {timeout_s} s") from None
        raise
    child.jobs = 0
    child.listener = listener
    return StartedWorker(child, missing)


async def _spawn(max_answer_bytes: int, listener: WorkerListener) -> WorkerProcess:
    own_end, worker_end = socket.socketpair()
    with worker_end:
        try:
            process = _execute(worker_end.fileno())
        except OSError as error:
            own_end.close()
            raise StartFailed(f"no process: {error.strerror}") from None
    child = WorkerProcess(process, max_answer_bytes, listener)
    try:
        await asyncio.get_running_loop().create_unix_connection(lambda: child, sock=own_end)
    except BaseException:
        own_end.close()
        await _reap(child)
        raise
    return child


async def _reap(child: WorkerProcess) -> None:
    """Kill a process and wait for its end, even if the caller is cancelled meanwhile."""
    reaping = asyncio.create_task(child.reap())
    try:
        await asyncio.shield(reaping)
    except asyncio.CancelledError:
        await reaping
        raise


def _execute(descriptor: int) -> subprocess.Popen[bytes]:
    """Start the process from the calling thread, which must not be one of an executor.

    Linux kills the process (PR_SET_PDEATHSIG) when the thread that started it ends.
    """
    paths = json.dumps([str(Path(entry).absolute()) for entry in sys.path])
    command = [sys.executable, "-I", "-B", "-c", _BOOT, paths, str(descriptor), str(os.getpid())]
    stream = null_stream()
    return subprocess.Popen(  # noqa: S603 our own interpreter and code
        command,
        stdin=stream,
        stdout=stream,
        stderr=stream,
        cwd="/",
        env=_ENVIRONMENT,
        start_new_session=True,
        pass_fds=(descriptor,),
    )


def _read_greeting(body: bytes) -> tuple[str, ...]:
    try:
        match frames.decode_untrusted_json(body):
            case {"ready": True, "missing": [*missing]}:
                return tuple(map(str, missing))
            case {"failed": {"kind": str(kind), "message": str(message)}}:
                raise StartFailed(f"{kind}: {message}")
            case _:
                raise StartFailed("an unknown greeting")
    except frames.BrokenFrame as error:
        raise StartFailed(str(error)) from None
