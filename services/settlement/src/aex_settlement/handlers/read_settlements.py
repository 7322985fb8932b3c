"""Questions about settlements: one, a page of them, a breakdown. A reader meets its own rows alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aex_models.settlement import Settlement, SettlementBreakdown
from aex_runtime.errors import NotFound
from aex_runtime.identity.principal import Principal
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Scalar
from aex_settlement.deps import Deps
from aex_settlement.repository import SETTLEMENTS, Slice, each_settlement, settlements_slice
from aex_settlement.rules.breakdown import BreakdownFold, parse_groups
from aex_settlement.rules.periods import parse_period
from aex_settlement.rules.visibility import may_read_settlement, own_filter


@dataclass(frozen=True, slots=True)
class SettlementFilter:
    """Which settlements: equal fields (of the repository's `FILTERS`) and UTC days, both ends included."""

    equal: Mapping[str, str]
    first_day: str | None = None
    last_day: str | None = None


async def read_settlement(deps: Deps, reader: Principal, contract_id: str) -> Settlement:
    """The settlement of a contract. Raises `NotFound` also where it is not the reader's."""
    stored = await SETTLEMENTS.get(deps.store, key_of(contract_id))
    if stored is None or not may_read_settlement(reader, stored.record):
        raise NotFound("settlement_not_found", "no settlement of this contract")
    return stored.record


async def list_settlements(
    deps: Deps, reader: Principal, wanted: SettlementFilter, after: tuple[Scalar, str] | None, limit: int
) -> Slice[Settlement]:
    """A page of settlements, newest first. Raises `InvalidRequest` for days that make no period."""
    period = parse_period(wanted.first_day, wanted.last_day)
    own = own_filter(reader)
    if any(wanted.equal.get(name, value) != value for name, value in own.items()):
        return Slice((), None)  # somebody else's rows: as if there were none
    return await settlements_slice(deps.store, {**wanted.equal, **own}, period, after, limit)


async def break_down(
    deps: Deps,
    reader: Principal,
    group_by: Sequence[str],
    first_day: str | None,
    last_day: str | None,
    currency: str | None,
) -> SettlementBreakdown:
    """The reader's settlements by one or two groups. Raises `InvalidRequest` for bad groups or days."""
    fold = BreakdownFold(parse_groups(group_by))
    period = parse_period(first_day, last_day)
    complete_to = deps.clock.now()
    async for settlement in each_settlement(deps.store, own_filter(reader), period):
        if currency in (None, settlement.cost.currency):
            fold.add(settlement)
    return fold.result(complete_to)
