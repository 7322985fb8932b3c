"""Handlers of one governance process over any store, with a settable clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aex_governance.deps import Deps
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.rules.config import RuleConfig, load_rule_configs
from aex_models.governance import Flag, ValidationDecision, ValidationRequest
from aex_runtime.clock import SetClock
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.unit_of_work import Committed, UnitOfWork
from tests.services.governance.requests import NOW


@dataclass(frozen=True, slots=True)
class Process:
    """Dependencies and emitted events of a process."""

    deps: Deps
    clock: SetClock
    committed: list[Committed] = field(default_factory=list)

    @property
    def events(self) -> list[str]:
        return [event.type for each in self.committed for event in each.events]

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        return await validate_outcome(self.deps, request)

    async def flags(self, request: ValidationRequest) -> dict[str, Flag]:
        return {flag.rule: flag for flag in (await self.validate(request)).flags}


def open_process(
    store: Store | None = None, at: datetime = NOW, rules: Mapping[str, RuleConfig] | None = None
) -> Process:
    chosen, clock, committed = store or MemoryStore(), SetClock(at), list[Committed]()
    unit_of_work = UnitOfWork("governance", chosen, clock, committed.append)
    return Process(Deps(unit_of_work, chosen, clock, load_rule_configs() if rules is None else rules), clock, committed)
