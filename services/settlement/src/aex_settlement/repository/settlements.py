"""The settlement of each contract, with all its revisions: what parties and finance look up."""

from itertools import combinations

from aex_models.settlement import Settlement
from aex_runtime.clock import epoch_micros
from aex_runtime.periods import Period, within
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Collection, Fields, Index, Scalar, Store
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Unit
from aex_settlement.repository.pages import Slice, slice_of

FILTERS = ("agent_id", "consumer_id", "domain", "status")
"""What settlements can be listed by, in any combination."""


def _fields(settlement: Settlement) -> Fields:
    return {
        "agent_id": settlement.agent_id,
        "consumer_id": settlement.consumer_id,
        "domain": settlement.domain,
        "status": settlement.status.value,
        "settled_at": epoch_micros(settlement.settled_at),
    }


SETTLEMENTS = Table(
    Collection(
        "settlement-settlements",
        tuple(
            Index(equal, "settled_at", "desc")
            for size in range(len(FILTERS) + 1)
            for equal in combinations(FILTERS, size)
        ),
    ),
    Settlement,
    _fields,
)


def create_settlement(unit: Unit, settlement: Settlement) -> None:
    """Write the settlement of a contract, which must not have one."""
    unit.create(SETTLEMENTS, key_of(settlement.contract_id), settlement)


async def settlements_slice(
    store: Store, equal: Fields, period: Period, after: tuple[Scalar, str] | None, limit: int
) -> Slice[Settlement]:
    """At most `limit` settlements that match, newest first."""
    found = await SETTLEMENTS.find(store, equal, "settled_at", "desc", within(period), after, limit + 1)
    return slice_of(found, "settled_at", limit)
