"""Main function of a worker process: it imports jobs, confines itself, and runs jobs until the end."""

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
from aex_outcomes.confinement.lockdown import exit_with_parent, lock_down
from aex_outcomes.confinement.settings import Setup

Job = Callable[[dict[str, Any]], Any]
"""Function that takes the payload and returns a JSON object; may be a coroutine function."""

_MESSAGE_CHARACTERS = 2_000
_OUT_OF_MEMORY = frames.encode_json({"memory": True, "retire": True})


def main(descriptor: int, parent_pid: int) -> None:
    """Run a worker process until the pool closes the connection.

    `descriptor`: file descriptor of the worker's end of the socket pair. `parent_pid`: process id of the pool.
    """
    exit_with_parent(parent_pid)
    os.set_inheritable(descriptor, False)  # a process that a job starts must not answer for it
    with socket.socket(fileno=descriptor) as connection, connection.makefile("rb") as incoming:
        request = _receive(incoming)
        if request is None:
            return
        try:
            setup = Setup.from_json(request)
            jobs = load_jobs(setup.jobs, setup.warm)
            memory = MemoryWatch(setup.retire_above_mb << 20)
            gc.freeze()  # warm objects live as long as the worker: no collection visits them
            missing = lock_down(setup.confinement, parent_pid)
        except Exception as error:  # noqa: BLE001 any error is sent to the pool, and the worker ends
            connection.sendall(frames.add_length_prefix(frames.encode_json({"failed": _error_fields(error)})))
            return
        connection.sendall(frames.add_length_prefix(frames.encode_json({"ready": True, "missing": missing})))
        serve_requests(incoming, connection, jobs, memory)


class MemoryWatch:
    """Check of this process's resident memory against a limit."""

    def __init__(self, growth_bytes: int) -> None:
        """Set the limit to the present resident memory and `growth_bytes`."""
        try:
            self._source: int | None = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # no /proc: the count of jobs alone recycles the worker
            self._source = None
        self._page = resource.getpagesize()
        self._limit = self._resident_bytes() + growth_bytes

    def is_above_limit(self) -> bool:
        """Return True if the process has grown beyond the limit; False if its memory is not reported."""
        return self._resident_bytes() > self._limit

    def _resident_bytes(self) -> int:
        if self._source is None:
            return 0
        return int(os.pread(self._source, 128, 0).split()[1]) * self._page


def load_jobs(job_names: tuple[str, ...], further_modules: tuple[str, ...]) -> dict[str, Job]:
    """Import the further modules and the jobs' functions ("module:function"); return these by name.

    Raises any error of an import.
    """
    for module in further_modules:
        importlib.import_module(module)
    functions: dict[str, Job] = {}
    for name in job_names:
        module, _, attribute = name.partition(":")
        functions[name] = getattr(importlib.import_module(module), attribute)
        if not callable(functions[name]):
            raise TypeError(f"{name} is not callable")
    return functions


def serve_requests(
    incoming: BufferedReader, connection: socket.socket, jobs: Mapping[str, Job], memory: MemoryWatch
) -> None:
    """Run the requested jobs one after the other, and send their answers, until the pool closes its end."""
    while (request := _receive(incoming)) is not None:
        body = run_job(jobs[request["job"]], request["payload"], memory)
        connection.sendall(frames.add_length_prefix(body))


def run_job(job: Job, payload: dict[str, Any], memory: MemoryWatch) -> bytes:
    """Run a job and return its result, or the exception that it raised, as an encoded answer."""
    try:
        result = job(payload)
        if isinstance(result, CoroutineType):  # asyncio is 40 ms of import that most workers never need
            result = importlib.import_module("asyncio").run(result)
        if not isinstance(result, dict):
            raise TypeError(f"a job returns a dict, not {type(result).__name__}")  # noqa: TRY301 one way out for all
        return frames.encode_json({"result": result, "retire": memory.is_above_limit()})
    except MemoryError:
        return _OUT_OF_MEMORY  # encoded beforehand: no memory is left to encode it
    except BaseException as error:  # noqa: BLE001 SystemExit and its like are the job's too, not the worker's
        return frames.encode_json({"error": _error_fields(error), "retire": memory.is_above_limit()})


def _error_fields(error: BaseException) -> dict[str, str]:
    """Return an exception's type and text, cut and without surrogates, so that they can be encoded."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 a hostile __str__
        text = ""
    message = text[:_MESSAGE_CHARACTERS].encode("utf-8", "replace").decode()
    return {"kind": type(error).__name__[:100].encode("utf-8", "replace").decode(), "message": message}


def _receive(incoming: BufferedReader) -> dict[str, Any] | None:
    """Read the next request; None at the end of the stream."""
    prefix = incoming.read(frames.PREFIX_BYTES)
    if len(prefix) < frames.PREFIX_BYTES:
        return None
    length = frames.parse_length_prefix(prefix)
    body = incoming.read(length)
    if len(body) < length:
        return None
    request: dict[str, Any] = json.loads(body)  # from the pool, not hostile: no strict decoder needed
    return request
