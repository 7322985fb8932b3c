"""A small service that keeps a count in the data directory."""

import asyncio

from fastapi import FastAPI

from aex_runtime.process import StopBounds, serve
from aex_runtime.settings import RuntimeSettings


def create_app() -> FastAPI:
    app = FastAPI()
    counter = RuntimeSettings().data_dir / "count"

    @app.get("/readyz")
    def ready() -> str:
        return "ready"

    @app.post("/count")
    def count() -> int:
        value = int(counter.read_text()) + 1 if counter.exists() else 1
        counter.write_text(str(value))
        return value

    @app.get("/slow")
    async def slow(seconds: float) -> str:
        counter.with_name("slow").touch()
        await asyncio.sleep(seconds)
        return "done"

    return app


if __name__ == "__main__":
    serve(f"{__spec__.name}:create_app", StopBounds(drain_s=30, hard_exit_s=60))
