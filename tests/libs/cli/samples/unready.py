"""A service that answers but never gets ready."""

from fastapi import FastAPI, Response

from aex_runtime.process import serve


def create_app() -> FastAPI:
    app = FastAPI()

    @app.get("/readyz")
    def ready() -> Response:
        return Response("bus: unreachable", status_code=503)

    return app


if __name__ == "__main__":
    serve(f"{__spec__.name}:create_app")
