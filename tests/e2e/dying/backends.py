"""The backends of a service that dies at the steps that the test orders."""

from collections.abc import Sequence
from dataclasses import replace

from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings
from aex_runtime.store.buffer import Write
from tests.e2e.dying.bus import DyingBus
from tests.e2e.dying.deaths import Deaths
from tests.e2e.dying.store import DyingStore, StepOf


def no_step(writes: Sequence[Write]) -> None:
    """For services whose commits no test names."""
    del writes


def dying_backends(settings: RuntimeSettings, service: str, step_of: StepOf = no_step) -> Backends:
    """The backends of the settings, each asking whether the process is to die."""
    backends, deaths = open_backends(settings, service), Deaths.told()
    deaths.known_as(service)
    return replace(backends, store=DyingStore(backends.store, step_of, deaths), bus=DyingBus(backends.bus, deaths))
