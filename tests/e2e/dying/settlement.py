"""settlement, as it is, on a bus that kills it at its first `settlement.completed`."""

from fastapi import FastAPI

from aex_runtime.process import serve
from aex_settlement import main
from aex_settlement.settings import Settings
from tests.e2e.dying.bus import dying_backends

TOPIC = "settlement.completed"


def create_app() -> FastAPI:
    """The service's own application."""
    settings = Settings()
    return main.create_app(settings, dying_backends(settings, main.SERVICE, TOPIC))


if __name__ == "__main__":
    serve(f"{__spec__.name}:create_app")
