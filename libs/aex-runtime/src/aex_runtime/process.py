"""The process of a service: it serves under uvicorn, drains at a signal, and ends with its parent."""

import ctypes
import faulthandler
import gc
import importlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn, cast

import structlog
import uvicorn
from fastapi import FastAPI
from pydantic import ValidationError

from aex_runtime.files import UnknownLayout
from aex_runtime.http.connections import connection_bounds_within_file_limit, create_protocol_class
from aex_runtime.http.health import AbsenceReason, missing_parts
from aex_runtime.http.streaming import OpenStreams
from aex_runtime.identity.local_key import UnsafeKey
from aex_runtime.logs import configure_logging
from aex_runtime.settings import BadConfiguration, RuntimeSettings, describe_setting_problems

_SIGNAL_INTERVAL_S = 0.2
KEEP_ALIVE_S = 75
"""Longer than clients keep idle connections (httpx: 5 s), so that they never use one that is closing."""
_PR_SET_PDEATHSIG = 1
_BAD_CONFIGURATION = 2
_FAILED = 3
"""Exit status, the one of uvicorn after a failed start."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StopBounds:
    """The time limits of a stop, in seconds."""

    drain_s: int = 10
    """Time for requests in progress."""
    hard_exit_s: int = 15
    """Time for the whole stop: the drain, then background tasks and the store."""


_BOUNDS = StopBounds()


class _Server(uvicorn.Server):
    """A server that stops within its time limits, ends open streams, and stops if a vital part is lost."""

    def __init__(
        self, config: uvicorn.Config, hard_exit_s: int, open_streams: OpenStreams, vital: Mapping[str, AbsenceReason]
    ) -> None:
        super().__init__(config)
        self.lost: dict[str, str] = {}
        self._hard_exit_s = hard_exit_s
        self._open_streams = open_streams
        self._vital = vital

    async def on_tick(self, counter: int) -> bool:
        self.lost = missing_parts(self._vital)
        if self.lost:
            _log.critical("service_ends", alarm=True, lost=self.lost)
            _exit_after(self._hard_exit_s)
        return await super().on_tick(counter) or bool(self.lost)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._open_streams.end_all_and_refuse_new()  # the server waits for all responses, and these would take minutes
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        _exit_after(self._hard_exit_s)
        super().handle_exit(sig, frame)


def serve(target: str, bounds: StopBounds = _BOUNDS) -> None:
    """Run the application of `module:create_app` until SIGTERM, SIGINT or the end of the parent process.

    Reads `RuntimeSettings` from the environment and configures logging. A stop that exceeds `bounds` ends with the
    stacks of all threads on stderr. Exits with status 2 for a wrong configuration, with a line on stderr for each
    problem. Exits with status 3 if a vital part of the service is lost.
    """
    # Before uvicorn installs its handlers, and after it restores these.
    signal.signal(signal.SIGTERM, _exit)
    signal.signal(signal.SIGINT, _exit)
    # gRPC would write plain lines between the JSON lines on stderr; the adapters log its errors.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        settings = RuntimeSettings()
        if settings.parent_fd is not None:
            stop_process_when_parent_ends(settings.parent_fd, bounds.hard_exit_s)
        # `aex_work_publisher.main:create_app` → `work-publisher`
        service = target.partition(".")[0].removeprefix("aex_").replace("_", "-")
        configure_logging(service, settings.log_level, settings.log_format, settings.effective_google_project())
        app = _create_app(target)
    except ValidationError as error:
        _refuse(describe_setting_problems(error))
    except (BadConfiguration, UnknownLayout, UnsafeKey) as error:
        _refuse([str(error)])
    configuration = _configuration(app, settings, service, bounds)
    streams = getattr(app.state, "open_streams", OpenStreams())  # absent in an application without streams
    server = _Server(configuration, bounds.hard_exit_s, streams, getattr(app.state, "required_parts", {}))
    server.run()
    if server.lost:
        raise SystemExit(_FAILED)


def stop_process_when_parent_ends(parent_pipe_fd: int, hard_exit_s: int) -> None:
    """Stop this process, as SIGTERM does, when the parent's end of the pipe `parent_pipe_fd` closes.

    A thread waits for that. The process is killed if the stop takes longer than `hard_exit_s`.
    """
    os.set_inheritable(parent_pipe_fd, False)
    threading.Thread(target=_wait_for_end, args=(parent_pipe_fd, hard_exit_s), name="parent-pipe", daemon=True).start()
    if sys.platform == "linux":
        # A second signal of it, without a thread.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _wait_for_end(descriptor: int, hard_exit_s: int) -> None:
    while os.read(descriptor, 1):
        pass
    _exit_after(hard_exit_s)
    os.kill(os.getpid(), signal.SIGTERM)
    # Before the server installs its handlers, a signal just before a blocking call does not interrupt it: repeat it
    # until it is handled.
    while signal.getsignal(signal.SIGTERM) is _exit:
        time.sleep(_SIGNAL_INTERVAL_S)
        os.kill(os.getpid(), signal.SIGTERM)


def _exit_after(hard_exit_s: int) -> None:
    # The dump's thread runs in C: it ends the process even if Python is blocked.
    faulthandler.dump_traceback_later(hard_exit_s, exit=True)


def _exit(_signal: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # handled
    raise SystemExit(0)


def _configuration(app: FastAPI, settings: RuntimeSettings, service: str, bounds: StopBounds) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.effective_port(service),
        loop="uvloop",
        http=create_protocol_class(connection_bounds_within_file_limit(settings.max_connections)),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=bounds.drain_s,
    )


def _create_app(target: str) -> FastAPI:
    """Create the application without garbage collection, and exempt its objects from later collections."""
    module, _, name = target.partition(":")
    gc.disable()
    try:
        return cast(FastAPI, getattr(importlib.import_module(module), name)())
    finally:
        gc.enable()
        gc.freeze()


def _refuse(problems: Iterable[str]) -> NoReturn:
    for problem in problems:
        sys.stderr.write(f"{' '.join(problem.split())}\n")
    raise SystemExit(_BAD_CONFIGURATION)
