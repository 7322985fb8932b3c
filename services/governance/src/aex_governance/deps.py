"""Collaborators of the handlers, such as store and clock, which each handler receives as `deps`."""

from collections.abc import Mapping
from dataclasses import dataclass

from aex_governance.rules.config import RuleConfig
from aex_runtime.clock import Clock
from aex_runtime.store.port import Store
from aex_runtime.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True)
class Deps:
    """Collaborators of the handlers: store, clock, configuration of the rules, and others."""

    unit_of_work: UnitOfWork
    store: Store
    clock: Clock
    rules: Mapping[str, RuleConfig]
    """Configuration of each fraud rule, by the rule's name."""
