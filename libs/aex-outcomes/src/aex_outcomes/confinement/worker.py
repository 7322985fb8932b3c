"""A confined worker: warms, locks itself down, and then answers one job after the other until its socket closes."""

import gc
import importlib
import json
import os
import resource
import socket
from collections.abc import Callable, Mapping
from io import BufferedReader
from types import CoroutineType
from typing import Any

from aex_outcomes.confinement import frames
from aex_outcomes.confinement.lockdown import die_with, lock_down
from aex_outcomes.confinement.settings import Setup

Job = Callable[[dict[str, Any]], Any]
"""Takes the payload and returns a JSON object; may be a coroutine function."""

_MESSAGE_CHARACTERS = 2_000
_OUT_OF_MEMORY = frames.encode({"memory": True, "retire": True})


def main(descriptor: int, parent: int) -> None:
    """The life of a worker process; `descriptor` is its end of the socket pair, `parent` the pool's process id."""
    die_with(parent)
    os.set_inheritable(descriptor, False)  # a process that a job starts must not be able to answer in its name
    with socket.socket(fileno=descriptor) as connection, connection.makefile("rb") as incoming:
        request = _receive(incoming)
        if request is None:
            return
        try:
            setup = Setup.from_json(request)
            jobs = resolve(setup.jobs, setup.warm)
            memory = Memory(setup.retire_above_mb << 20)
            gc.freeze()  # what is warm lives as long as the worker: no collection walks it again
            missing = lock_down(setup.confinement, parent)
        except Exception as error:  # noqa: BLE001 whatever it is, the pool is told, and the worker ends
            _send(connection, {"failed": _told(error)})
            return
        _send(connection, {"ready": True, "missing": missing})
        serve(incoming, connection, jobs, memory)


class Memory:
    """Watches this process's resident memory against a mark above where it stood at construction."""

    def __init__(self, mark: int) -> None:
        try:
            self._source: int | None = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # no /proc: the count of jobs alone recycles the worker
            self._source = None
        self._page = resource.getpagesize()
        self._limit = self._resident() + mark

    def above_mark(self) -> bool:
        """Whether this process has grown so much that it should be replaced."""
        return self._resident() > self._limit

    def _resident(self) -> int:
        if self._source is None:
            return 0
        return int(os.pread(self._source, 128, 0).split()[1]) * self._page


def resolve(jobs: tuple[str, ...], warm: tuple[str, ...]) -> dict[str, Job]:
    """Import the modules to warm, then find each job's function. Raises what an import raises."""
    for module in warm:
        importlib.import_module(module)
    return {name: _function(name) for name in jobs}


def _function(name: str) -> Job:
    module, _, attribute = name.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    if not callable(found):
        raise TypeError(f"{name} is not callable")
    function: Job = found
    return function


def serve(incoming: BufferedReader, connection: socket.socket, jobs: Mapping[str, Job], memory: Memory) -> None:
    """Answer requests until the pool closes its end."""
    while (request := _receive(incoming)) is not None:
        body = perform(jobs[request["job"]], request["payload"], memory)
        connection.sendall(frames.prefixed(body))


def perform(job: Job, payload: dict[str, Any], memory: Memory) -> bytes:
    """One job's answer: its result, or what it raised. Whatever a job raises, the worker goes on."""
    try:
        result = job(payload)
        if isinstance(result, CoroutineType):  # asyncio is 40 ms of import that most workers never need
            result = importlib.import_module("asyncio").run(result)
        if not isinstance(result, dict):
            raise TypeError(f"a job returns a dict, not {type(result).__name__}")  # noqa: TRY301 one way out for all
        return frames.encode({"result": result, "retire": memory.above_mark()})
    except MemoryError:
        return _OUT_OF_MEMORY  # made beforehand: there is none left to make it with
    except BaseException as error:  # noqa: BLE001 SystemExit and its like are the job's too, not the worker's
        return frames.encode({"error": _told(error), "retire": memory.above_mark()})


def _told(error: BaseException) -> dict[str, str]:
    """An exception's type and text, in a form that always encodes."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 a hostile __str__
        text = ""
    message = text[:_MESSAGE_CHARACTERS].encode("utf-8", "replace").decode()
    return {"kind": type(error).__name__[:100].encode("utf-8", "replace").decode(), "message": message}


def _receive(incoming: BufferedReader) -> dict[str, Any] | None:
    """The next request, or None at the end of the stream."""
    prefix = incoming.read(frames.PREFIX_BYTES)
    if len(prefix) < frames.PREFIX_BYTES:
        return None
    length = frames.length_of(prefix)
    body = incoming.read(length)
    if len(body) < length:
        return None
    request: dict[str, Any] = json.loads(body)  # the pool's own, not hostile: plainly and fast
    return request


def _send(connection: socket.socket, message: dict[str, Any]) -> None:
    connection.sendall(frames.prefixed(frames.encode(message)))
