"""settlement, as it is, dying when it is told."""

from fastapi import FastAPI

from aex_runtime.process import serve
from aex_settlement import main
from aex_settlement.settings import Settings
from tests.e2e.dying.backends import dying_backends
from tests.e2e.dying.sealing import sealing_step


def create_app() -> FastAPI:
    """The service's own application."""
    settings = Settings()
    return main.create_app(settings, dying_backends(settings, main.SERVICE, sealing_step))


if __name__ == "__main__":
    serve(f"{__spec__.name}:create_app")
