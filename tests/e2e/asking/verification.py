"""verification, as it is, noting its queries."""

from fastapi import FastAPI

from aex_runtime.process import serve
from aex_verification import main
from aex_verification.settings import Settings
from tests.e2e.asking.store import noting_backends


def create_app() -> FastAPI:
    """The service's own application."""
    settings = Settings()
    return main.create_app(settings, noting_backends(settings, main.SERVICE))


if __name__ == "__main__":
    serve(f"{__spec__.name}:create_app")
