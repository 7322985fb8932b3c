"""The plain counterpart of a service: FastAPI on the same store.

`python -m tests.benchmarks.bare_app` reads `AEX_PORT` and `AEX_DATA_DIR` as a service does.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from aex_runtime.store.sqlite import SQLiteStore


def create_app() -> tuple[FastAPI, SQLiteStore]:
    """Return an app with a readiness route, and its store."""
    store = SQLiteStore(Path(os.environ["AEX_DATA_DIR"]) / "store.sqlite3")

    @asynccontextmanager
    async def close_store(_: FastAPI) -> AsyncIterator[None]:
        yield
        await store.close()

    app = FastAPI(lifespan=close_store)

    @app.get("/readyz")
    async def get_ready() -> dict[str, str]:
        await store.ping()
        return {"status": "ready"}

    return app, store


def run_app(app: FastAPI) -> None:
    """Serve the app with the settings of the services."""
    port = int(os.environ["AEX_PORT"])
    uvicorn.run(app, port=port, loop="uvloop", http="httptools", log_level="warning", access_log=False)


if __name__ == "__main__":
    run_app(create_app()[0])
