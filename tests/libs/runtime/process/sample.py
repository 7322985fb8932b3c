import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import Response

from aex_runtime.http.streaming import EventStream, OpenStreams
from aex_runtime.process import StopBounds, serve

HANGS = "SAMPLE_HANGS"
LOSES = "SAMPLE_LOSES"
HANG_S = 600


@asynccontextmanager
async def _lifespan(_: FastAPI) -> AsyncIterator[None]:
    yield
    if os.environ.get(HANGS) == "at the end":
        time.sleep(HANG_S)  # noqa: ASYNC251 a loop that is stuck is the point


def create_app() -> FastAPI:
    if os.environ.get(HANGS) == "at the start":
        sys.stderr.write("hangs now\n")
        sys.stderr.flush()
        time.sleep(HANG_S)
    app = FastAPI(lifespan=_lifespan)
    app.state.open_streams = OpenStreams()
    app.state.required_parts = {"workers": lambda: os.environ.get(LOSES)}

    @app.get("/readyz")
    def ready() -> str:
        return "ready"

    @app.get("/events")
    def events(request: Request) -> Response:
        return EventStream(_ticks(), streams=request.app.state.open_streams, lifetime_s=HANG_S)

    return app


async def _ticks() -> AsyncIterator[bytes]:
    yield b": begins\n\n"
    await asyncio.sleep(HANG_S)


if __name__ == "__main__":
    serve("tests.libs.runtime.process.sample:create_app", StopBounds(drain_s=1, hard_exit_s=5))
