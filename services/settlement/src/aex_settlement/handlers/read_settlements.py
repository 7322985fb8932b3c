"""Questions about settlements: one, or a page of them. A reader meets its own alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from aex_models.settlement import Settlement
from aex_runtime.errors import NotFound
from aex_runtime.identity.principal import Principal
from aex_runtime.periods import parse_period
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Scalar
from aex_settlement.deps import Deps
from aex_settlement.repository.pages import Slice
from aex_settlement.repository.settlements import SETTLEMENTS, settlements_slice
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
