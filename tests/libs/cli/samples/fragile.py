"""A service that gets ready and dies soon after."""

import os
import threading

from fastapi import FastAPI

from aex_runtime.process import serve


def create_app() -> FastAPI:
    app = FastAPI()

    @app.get("/readyz")
    def ready() -> str:
        print("about to die", flush=True)  # noqa: T201 the log shows it
        threading.Timer(0.2, os._exit, (9,)).start()
        return "ready"

    return app


if __name__ == "__main__":
    serve(f"{__spec__.name}:create_app")
