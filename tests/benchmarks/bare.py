"""What services are measured against: FastAPI with nothing around it, on the store that the services use.

`python -m tests.benchmarks.bare`, with `AEX_PORT` and `AEX_DATA_DIR` as for a service.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from aex_runtime.store.sqlite import SQLiteStore


def create_app(store: SQLiteStore) -> FastAPI:
    """One route, that asks the store."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        await store.close()

    app = FastAPI(lifespan=life)

    @app.get("/readyz")
    async def ready() -> dict[str, str]:
        await store.ping()
        return {"status": "ready"}

    return app


def given_store() -> SQLiteStore:
    """In the data directory of the environment."""
    return SQLiteStore(Path(os.environ["AEX_DATA_DIR"]) / "store.sqlite3")


def serve(app: FastAPI) -> None:
    """As the services are served, on the environment's port."""
    port = int(os.environ["AEX_PORT"])
    uvicorn.run(app, port=port, loop="uvloop", http="httptools", log_level="warning", access_log=False)


if __name__ == "__main__":
    serve(create_app(given_store()))
