"""Read an account's daily closing balances: one for each UTC day on which something was posted to it."""

from contextlib import aclosing

from aex_runtime.errors import NotFound
from aex_runtime.identity.principal import Principal
from aex_runtime.store.port import Bound
from aex_settlement.deps import Deps
from aex_settlement.handlers.steady import at_one_state
from aex_settlement.repository.pages import each_page
from aex_settlement.repository.projections import DAYS
from aex_settlement.rules.periods import parse_days
from aex_settlement.rules.projected import DayBalance, Projection, ProjectionState
from aex_settlement.rules.visibility import may_read_account


async def read_account_days(
    deps: Deps, reader: Principal, account: str, first_day: str | None, last_day: str | None
) -> list[DayBalance]:
    """By day, in each of the account's currencies. Days are those of sealing, both ends included.

    Raises `NotFound` also where the account is not the reader's, `InvalidRequest` for days that make no period.
    """
    if not may_read_account(reader, account):
        raise NotFound("account_not_found", "no such account")
    days = parse_days(first_day, last_day)
    first = () if days.first is None else (Bound(">=", days.first),)
    last = () if days.last is None else (Bound("<=", days.last),)

    async def read(state: ProjectionState) -> list[DayBalance]:
        equal = {"generation": state.generation, "account": account}
        found: list[DayBalance] = []
        async with aclosing(each_page(deps.store, DAYS, equal, "day", "asc", (*first, *last))) as pages:
            async for page in pages:
                found += [stored.record for stored in page]
        return found

    return await at_one_state(deps, Projection.ACCOUNTS, read) or []
