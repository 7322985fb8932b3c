"""One worker process as the pool sees it: started by exec, asked over a socket pair, killed with all its group."""

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
"""Isolated (-I: no PYTHON* variables, no working directory), and yet able to import what the service can."""

_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""All that a worker has: no secret of the service, and one thread of each library, since stacks count as memory."""

_REAP_S = 0.001
_REAP_MAX_S = 0.05


class StartFailed(Exception):
    """A worker did not become ready; the message says why."""


class Listener(Protocol):
    """Who is told what a worker answers, and that a worker is lost."""

    def answered(self, child: "Child", body: bytes) -> None:
        """A whole answer. The worker waits for the next request."""
        ...

    def lost(self, child: "Child", reason: str) -> None:
        """The worker closed its end, or sent what nobody asked for. Told once, and not after `kill`."""
        ...


class Child(asyncio.Protocol):
    """A worker process; belongs to the event loop that started it."""

    def __init__(self, process: subprocess.Popen[bytes], answer_limit: int, listener: Listener) -> None:
        self.jobs = 0
        """Requests sent so far."""
        self._process = process
        self._reader = frames.FrameReader(answer_limit)
        self._listener = listener
        self._transport: asyncio.Transport | None = None
        self._asked = False
        self._over = False

    @property
    def pid(self) -> int:
        """The process id, which is also that of its group and its session."""
        return self._process.pid

    def ask(self, body: bytes) -> None:
        """Send a request; the listener gets the answer. Not before the answer to the one before."""
        self._asked = True
        self.jobs += 1
        if self._transport is not None:
            self._transport.write(frames.prefixed(body))

    def report_to(self, listener: Listener) -> None:
        """Change who is told."""
        self._listener = listener

    def kill(self) -> None:
        """End the process and all of its group, at once. Repeats do nothing."""
        self._over = True
        if self._transport is not None:
            self._transport.abort()
        if self._process.returncode is None:  # not buried yet, so that its number is nobody else's
            with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: PermissionError for a dead group
                os.killpg(self.pid, signal.SIGKILL)

    async def ended(self) -> int:
        """Kill the process and wait until it is gone; returns its exit status, negative for a signal."""
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
        if self._over:
            return
        try:
            body = self._reader.feed(data)
            if not self._asked:
                raise frames.BrokenFrame("bytes that nobody asked for")  # noqa: TRY301 one way out for all
        except frames.BrokenFrame as error:
            self._lose(str(error))
            return
        if body is not None:
            self._asked = False
            self._listener.answered(self, body)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose("the worker ended" if exc is None else f"the worker ended ({type(exc).__name__})")

    def _lose(self, reason: str) -> None:
        if not self._over:
            self._over = True
            self._listener.lost(self, reason)


class _Greeting:
    """Listens to a worker until it is ready."""

    def __init__(self) -> None:
        self.body: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def answered(self, child: Child, body: bytes) -> None:
        del child
        if not self.body.done():
            self.body.set_result(body)

    def lost(self, child: Child, reason: str) -> None:
        del child
        if not self.body.done():
            self.body.set_exception(StartFailed(reason))
            self.body.exception()  # seen: who has been cancelled meanwhile waits for it no longer


async def start(setup: Setup, answer_limit: int, listener: Listener, timeout_s: float) -> tuple[Child, tuple[str, ...]]:
    """Start a worker and wait until it is warm. Returns it with what its system could not bound.

    Raises `StartFailed`; leaves no process behind, also when cancelled.
    """
    greeting = _Greeting()
    child = await _spawned(answer_limit, greeting)
    try:
        child.ask(frames.encode(dataclasses.asdict(setup)))
        async with asyncio.timeout(timeout_s):
            missing = _read_greeting(await greeting.body)
    except BaseException as error:
        await _buried(child)
        if isinstance(error, TimeoutError):
            raise StartFailed(f"not ready after {timeout_s} s") from None
        raise
    child.jobs = 0
    child.report_to(listener)
    return child, missing


async def _spawned(answer_limit: int, listener: Listener) -> Child:
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = _execute(theirs.fileno())
        except OSError as error:
            ours.close()
            raise StartFailed(f"no process: {error.strerror}") from None
    child = Child(process, answer_limit, listener)
    try:
        await asyncio.get_running_loop().create_unix_connection(lambda: child, sock=ours)
    except BaseException:
        ours.close()
        await _buried(child)
        raise
    return child


async def _buried(child: Child) -> None:
    """Wait for a process's end, and do not let a cancellation leave it half-way."""
    burial = asyncio.create_task(child.ended())
    try:
        await asyncio.shield(burial)
    except asyncio.CancelledError:
        await burial
        raise


def _execute(descriptor: int) -> subprocess.Popen[bytes]:
    """Start the process from this very thread: Linux kills it (PR_SET_PDEATHSIG) when the thread that started it ends,
    so that a thread of an executor would take its workers with it."""
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
