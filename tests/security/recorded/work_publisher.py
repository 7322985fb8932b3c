"""work-publisher, as it is, recorded."""

from fastapi import FastAPI

from aex_runtime.process import serve
from aex_work_publisher import main
from aex_work_publisher.settings import Settings
from tests.security.recorded.bus import recorded_backends
from tests.security.recorded.spans import recorded_spans


def create_app() -> FastAPI:
    """The service's own application."""
    settings = Settings()
    return main.create_app(settings, recorded_backends(settings, main.SERVICE), recorded_spans(main.SERVICE))


if __name__ == "__main__":
    serve(f"{__spec__.name}:create_app")
