"""settlement, as it is, with contracts whose settling always fails and others that kill it."""

from collections.abc import Sequence
from dataclasses import replace

from fastapi import FastAPI

from aex_runtime.process import serve
from aex_runtime.service import open_backends
from aex_runtime.store.buffer import Write
from aex_settlement import main
from aex_settlement.settings import Settings
from tests.e2e.dying.deaths import Deaths
from tests.e2e.dying.store import DyingStore
from tests.e2e.poisoned.bus import DeadlyBus

FAILING = "ctr_failing"


def refuse(writes: Sequence[Write]) -> None:
    """Stand for a defect that some data brings out."""
    if any(FAILING in each.key for each in writes):
        raise RuntimeError("a defect of the handler")


def create_app() -> FastAPI:
    """The service's own application."""
    settings = Settings()
    backends = open_backends(settings, main.SERVICE)
    poisoned = replace(backends, store=DyingStore(backends.store, refuse, Deaths.told()), bus=DeadlyBus(backends.bus))
    return main.create_app(settings, poisoned)


if __name__ == "__main__":
    serve(f"{__spec__.name}:create_app")
