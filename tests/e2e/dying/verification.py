"""verification, as it is, on a bus that kills it at its first `outcome.verified`."""

from fastapi import FastAPI

from aex_runtime.process import serve
from aex_verification import main
from aex_verification.settings import Settings
from tests.e2e.dying.bus import dying_backends

TOPIC = "outcome.verified"


def create_app() -> FastAPI:
    """The service's own application."""
    settings = Settings()
    return main.create_app(settings, dying_backends(settings, main.SERVICE, TOPIC))


if __name__ == "__main__":
    serve(f"{__spec__.name}:create_app")
