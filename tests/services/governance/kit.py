"""Governance's handlers over any store, with a clock to move."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aex_governance.deps import Deps
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.rules.config import RuleConfig, load_rules
from aex_models.governance import Flag, ValidationDecision, ValidationRequest
from aex_runtime.clock import SetClock
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.unit_of_work import Committed, UnitOfWork
from tests.services.governance.asking import NOW


@dataclass(frozen=True, slots=True)
class Desk:
    """One process of governance."""

    deps: Deps
    clock: SetClock
    committed: list[Committed] = field(default_factory=list)

    @property
    def events(self) -> list[str]:
        """The types of the events that it emitted."""
        return [event.type for each in self.committed for event in each.events]

    async def asked(self, request: ValidationRequest) -> ValidationDecision:
        """Governance's decision."""
        return await validate_outcome(self.deps, request)

    async def flags(self, request: ValidationRequest) -> dict[str, Flag]:
        """The flags of governance's decision, by rule."""
        return {flag.rule: flag for flag in (await self.asked(request)).flags}


def desk_over(store: Store | None = None, at: datetime = NOW, rules: Mapping[str, RuleConfig] | None = None) -> Desk:
    """With the packaged thresholds, and over a store in memory, where no others are given."""
    chosen, clock, committed = store or MemoryStore(), SetClock(at), list[Committed]()
    unit_of_work = UnitOfWork("governance", chosen, clock, committed.append)
    return Desk(Deps(unit_of_work, chosen, clock, load_rules() if rules is None else rules), clock, committed)
