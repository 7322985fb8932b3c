"""governance, as it is, in whose hands verification dies when it is told."""

from dataclasses import replace

from fastapi import FastAPI

from aex_governance import main
from aex_governance.settings import Settings
from aex_runtime.process import serve
from aex_runtime.service import open_backends
from tests.e2e.dying.deaths import Deaths
from tests.e2e.dying.steps import governance_step
from tests.e2e.dying.store import DyingStore


def create_app() -> FastAPI:
    """The service's own application."""
    settings = Settings()
    backends = open_backends(settings, main.SERVICE)
    of_verification = Deaths.told().of("verification")
    return main.create_app(
        settings, replace(backends, store=DyingStore(backends.store, governance_step, of_verification))
    )


if __name__ == "__main__":
    serve(f"{__spec__.name}:create_app")
