"""work-publisher, as it is, on a bus that kills it at its first `contract.awarded`."""

from fastapi import FastAPI

from aex_runtime.process import serve
from aex_work_publisher import main
from aex_work_publisher.settings import Settings
from tests.e2e.dying.bus import dying_backends

TOPIC = "contract.awarded"


def create_app() -> FastAPI:
    """The service's own application."""
    settings = Settings()
    return main.create_app(settings, dying_backends(settings, main.SERVICE, TOPIC))


if __name__ == "__main__":
    serve(f"{__spec__.name}:create_app")
