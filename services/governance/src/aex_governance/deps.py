"""Dependencies of the handlers."""

from collections.abc import Mapping
from dataclasses import dataclass

from aex_governance.rules.config import RuleConfig
from aex_runtime.clock import Clock
from aex_runtime.store.port import Store
from aex_runtime.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True)
class Deps:
    """The service's collaborators, all injected."""

    unit_of_work: UnitOfWork
    store: Store
    clock: Clock
    rules: Mapping[str, RuleConfig]
