"""A service as a process: starts it under uvicorn, drains it when asked, ends it when its parent is gone."""

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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn, cast

import structlog
import uvicorn
from fastapi import FastAPI
from pydantic import ValidationError

from aex_runtime.data_dir import UnknownLayout
from aex_runtime.http.connections import bounds_for, protocol_within
from aex_runtime.http.event_stream import OpenStreams
from aex_runtime.http.readiness import Missing, what_is_missing
from aex_runtime.identity.local_key import UnsafeKey
from aex_runtime.logs import configure_logging
from aex_runtime.settings import BadConfiguration, RuntimeSettings

_SAY_AGAIN_S = 0.2
KEEP_ALIVE_S = 75
"""Longer than clients keep idle connections (httpx: 5 s), or they would meet one that is just being closed."""
_PR_SET_PDEATHSIG = 1
_BAD_CONFIGURATION = 2
_FAILED = 3
"""As uvicorn exits where a start fails."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StopBounds:
    """How long a process that is asked to stop may take, in seconds."""

    drain_s: int = 10
    """For requests under way to end."""
    hard_exit_s: int = 15
    """After which it ends itself: the drain, then time for the pumps and the store to close."""


_BOUNDS = StopBounds()


class _Server(uvicorn.Server):
    """Ends within bounds, whatever hangs, and at once what would never end by itself; and with a vital part."""

    def __init__(
        self, config: uvicorn.Config, hard_exit_s: int, open_streams: OpenStreams, vital: Mapping[str, Missing]
    ) -> None:
        super().__init__(config)
        self.lost: dict[str, str] = {}
        """Vital parts that are missing, and why."""
        self._hard_exit_s = hard_exit_s
        self._open_streams = open_streams
        self._vital = vital

    async def on_tick(self, counter: int) -> bool:
        self.lost = what_is_missing(self._vital)
        if self.lost:
            _log.critical("service_ends", alarm=True, lost=self.lost)
            _bound_the_end(self._hard_exit_s)
        return await super().on_tick(counter) or bool(self.lost)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._open_streams.end()  # the server waits for all answers, and these would take minutes
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        _bound_the_end(self._hard_exit_s)
        super().handle_exit(sig, frame)


def serve(target: str, bounds: StopBounds = _BOUNDS) -> None:
    """Run the service whose app factory is `module:create_app` until SIGTERM, SIGINT or the end of the parent.

    Reads `RuntimeSettings` from the environment. Asked to stop, it drains within `bounds`, or ends itself with the
    stacks of its threads on stderr; so it does by itself where a vital part of the service is lost, and exits with 3.
    Exits with 2 where the configuration is wrong, with one line on stderr for each problem. Writes nothing to stdout
    but logs.
    """
    # Until uvicorn takes the signals, and again once it gives them back.
    signal.signal(signal.SIGTERM, _exit)
    signal.signal(signal.SIGINT, _exit)
    # gRPC writes lines of its own to stderr, between ours that are JSON; what matters of it the adapters log.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        settings = RuntimeSettings()
        if settings.parent_fd is not None:
            follow_parent(settings.parent_fd, bounds.hard_exit_s)
        service = _service_name(target)
        configure_logging(service, settings.log_level, settings.log_format, settings.google_project_of())
        app = _started_lightly(target)
    except ValidationError as error:
        _refuse(f"{_path(problem['loc'])}: {problem['msg']}" for problem in error.errors(include_input=False))
    except (BadConfiguration, UnknownLayout, UnsafeKey) as error:
        _refuse([str(error)])
    configuration = _configuration(app, settings, service, bounds)
    streams = getattr(app.state, "open_streams", OpenStreams())  # an application that streams nothing has none
    server = _Server(configuration, bounds.hard_exit_s, streams, getattr(app.state, "vital", {}))
    server.run()
    if server.lost:
        raise SystemExit(_FAILED)


def follow_parent(descriptor: int, hard_exit_s: int) -> None:
    """Stop this process, as SIGTERM does, when the other end of the pipe closes: the parent has ended, however."""
    os.set_inheritable(descriptor, False)
    threading.Thread(target=_wait_for_end, args=(descriptor, hard_exit_s), name="parent-pipe", daemon=True).start()
    if sys.platform == "linux":
        # A second way to learn of it, that needs no thread.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _wait_for_end(descriptor: int, hard_exit_s: int) -> None:
    while os.read(descriptor, 1):
        pass
    _bound_the_end(hard_exit_s)
    os.kill(os.getpid(), signal.SIGTERM)
    # Before the server takes the signals, one that comes just ahead of a blocking call does not interrupt it: say it
    # again until it was heard.
    while signal.getsignal(signal.SIGTERM) is _exit:
        time.sleep(_SAY_AGAIN_S)
        os.kill(os.getpid(), signal.SIGTERM)


def _bound_the_end(hard_exit_s: int) -> None:
    # The dump's thread runs in C: it ends the process even where Python itself is stuck.
    faulthandler.dump_traceback_later(hard_exit_s, exit=True)


def _exit(_signal: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # heard
    raise SystemExit(0)


def _configuration(app: FastAPI, settings: RuntimeSettings, service: str, bounds: StopBounds) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port_of(service),
        loop="uvloop",
        http=protocol_within(bounds_for(settings.max_connections)),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=bounds.drain_s,
    )


def _started_lightly(target: str) -> FastAPI:
    """Import and compose with the collector at rest: what is made now stays for good, and is never looked at again."""
    gc.disable()
    try:
        return _factory(target)()
    finally:
        gc.enable()
        gc.freeze()


def _factory(target: str) -> Callable[[], FastAPI]:
    module, _, name = target.partition(":")
    return cast(Callable[[], FastAPI], getattr(importlib.import_module(module), name))


def _service_name(target: str) -> str:
    """`aex_work_publisher.main:create_app` → `work-publisher`."""
    return target.partition(".")[0].removeprefix("aex_").replace("_", "-")


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "settings"


def _refuse(problems: Iterable[str]) -> NoReturn:
    for problem in problems:
        sys.stderr.write(f"{' '.join(problem.split())}\n")
    raise SystemExit(_BAD_CONFIGURATION)
