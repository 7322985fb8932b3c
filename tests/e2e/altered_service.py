"""A service of a suite, as it is, on what the function named by `TEST_ALTER` makes of its backends."""

import os
import pkgutil
from collections.abc import Callable
from importlib import import_module

from fastapi import FastAPI
from opentelemetry.trace import TracerProvider

from aex_cli.suite.service_spec import MODULES
from aex_runtime.process import serve
from aex_runtime.service import Backends
from aex_runtime.settings import RuntimeSettings

ALTER = "TEST_ALTER"
Alter = Callable[[RuntimeSettings, str], tuple[Backends, TracerProvider | None]]
"""Takes the settings and the name of the service; without tracers the service makes its own."""


def create_app() -> FastAPI:
    """Return the service's own application."""
    service = _service()
    settings = import_module(f"{MODULES[service]}.settings").Settings()
    alter: Alter = pkgutil.resolve_name(os.environ[ALTER])
    app: FastAPI = import_module(f"{MODULES[service]}.main").create_app(settings, *alter(settings, service))
    return app


def _service() -> str:
    """Return the service that this process is, by the port that the suite gave it."""
    port = os.environ["AEX_PORT"]
    urls = {name: os.environ[f"AEX_{name.upper().replace('-', '_')}_URL"] for name in MODULES}
    return next(name for name, url in urls.items() if url.endswith(f":{port}"))


if __name__ == "__main__":
    serve(f"{__spec__.name}:create_app")
