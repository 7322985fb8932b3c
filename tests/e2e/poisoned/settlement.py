"""Backends of a suite with contracts whose settling always fails, and others that kill settlement."""

from collections.abc import Sequence
from dataclasses import replace

from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings
from aex_runtime.store.port import Write
from tests.e2e.dying.deaths import Deaths
from tests.e2e.dying.store import DyingStore
from tests.e2e.poisoned.bus import DeadlyBus

FAILING = "ctr_failing"


def refuse(writes: Sequence[Write]) -> None:
    """Stand for a defect that some data brings out."""
    if any(FAILING in each.key for each in writes):
        raise RuntimeError("a defect of the handler")


def poisoned_backends(settings: RuntimeSettings, service: str) -> tuple[Backends, None]:
    """Return the backends of the settings; settlement's fail over some contracts, and die over others."""
    backends = open_backends(settings, service)
    if service != "settlement":
        return backends, None
    store = DyingStore(backends.store, refuse, Deaths.execute_order())
    return replace(backends, store=store, bus=DeadlyBus(backends.bus)), None
