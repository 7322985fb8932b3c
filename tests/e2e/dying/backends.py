"""The backends of a service that dies at the steps that the test orders."""

from collections.abc import Mapping
from dataclasses import replace

from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings
from tests.e2e.dying.bus import DyingBus
from tests.e2e.dying.deaths import Deaths
from tests.e2e.dying.sealing import sealing_step
from tests.e2e.dying.steps import governance_step, verification_step
from tests.e2e.dying.store import DyingStore, StepOf

_STEPS: Mapping[str, StepOf] = {"verification": verification_step, "settlement": sealing_step}


def dying_backends(settings: RuntimeSettings, service: str) -> tuple[Backends, None]:
    """Return the backends of the settings; each kills the process at the steps that the test ordered.

    Those of governance kill verification, which waits for its decision.
    """
    backends, deaths = open_backends(settings, service), Deaths.execute_order()
    deaths.known_as(service)
    if service == "governance":
        return replace(backends, store=DyingStore(backends.store, governance_step, deaths.of("verification"))), None
    store = DyingStore(backends.store, _STEPS.get(service, lambda _: None), deaths)
    return replace(backends, store=store, bus=DyingBus(backends.bus, deaths)), None
