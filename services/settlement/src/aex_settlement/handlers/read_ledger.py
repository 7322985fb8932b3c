"""Queries for transactions, accounts and settlements.

Consumers and agents read only their own records; for others `NotFound` is raised.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from aex_models.audiences import Audience
from aex_models.money import from_micros
from aex_models.settlement import Account, AccountBalance, AccountEntry, LedgerTransaction, Settlement, TrialBalance
from aex_runtime.errors import NotFound
from aex_runtime.http.large_pages import PageReader
from aex_runtime.http.listing import Listing, ListPage, Partial, read_page, read_page_as_json
from aex_runtime.http.pagination import PageRequest
from aex_runtime.identity.principals import Principal
from aex_runtime.periods import parse_period, period_bounds
from aex_runtime.store.port import Bound, Query, Scalar, key_of
from aex_settlement.deps import Deps
from aex_settlement.handlers.consistent_reads import SealedInstant, read_as_of, read_consistent
from aex_settlement.repository.ledger import SETTLEMENTS, TRANSACTIONS
from aex_settlement.repository.pages import BATCH, RecordPage, iterate_records
from aex_settlement.repository.projections import (
    DAYS,
    find_account_page_at,
    iterate_account_pages_backwards,
    iterate_balance_pages,
)
from aex_settlement.rules.account_books import EntryPosition, iterate_entries_newest_first
from aex_settlement.rules.projections import Balance, DayBalance, Projection, ProjectionState, parse_days
from aex_settlement.rules.settlements import (
    SettlementFilter,
    is_paid_or_successful,
    may_read_account,
    may_read_settlement,
    own_party_filter,
    render_settlement,
)

_CONCURRENT_READS = 16
"""Account pages read at the same time."""


async def read_transaction(deps: Deps, transaction_id: str) -> LedgerTransaction:
    """Return a transaction of the ledger. Raises `NotFound`."""
    [transaction] = await read_transactions(deps, [transaction_id])
    return transaction


async def read_transactions(deps: Deps, transaction_ids: Sequence[str]) -> tuple[LedgerTransaction, ...]:
    """Return the transactions with these ids, in this order. Raises `NotFound` if one does not exist."""
    found = await TRANSACTIONS.get_many(deps.store, [key_of(each) for each in transaction_ids])
    transactions = tuple(each for each in found if each is not None)
    if len(transactions) < len(found):
        raise NotFound("transaction_not_found", "no such transaction")
    return transactions


async def read_trial_balance(deps: Deps, as_of: str | None) -> TrialBalance:
    """Return the balances of all accounts at an instant, now if `as_of` is None; they sum to zero.

    Raises `InvalidRequest` unless `as_of` is RFC 3339.
    """
    instant, complete_to, accounts = await read_as_of(deps, as_of, partial(_balances, deps, None))
    return TrialBalance(as_of=instant, complete_to=complete_to, accounts=accounts or ())


async def read_account(deps: Deps, reader: Principal, account: str, as_of: str | None) -> Account:
    """Return an account's balance in each of its currencies at an instant, now if `as_of` is None.

    Raises `NotFound` also if the account is not the reader's.
    """
    _check_readable(reader, account)
    instant, complete_to, balances = await read_as_of(deps, as_of, partial(_balances, deps, account))
    return Account(account=account, as_of=instant, complete_to=complete_to, balances=balances or ())


async def list_entries(
    deps: Deps, reader: Principal, account: str, as_of: str | None, after: tuple[Scalar, str] | None, limit: int
) -> RecordPage[AccountEntry]:
    """Return a page of an account's entries up to an instant, newest first.

    The page begins after the position `after`. Raises `NotFound` also if the account is not the reader's.
    """
    _check_readable(reader, account)
    before = None if after is None else EntryPosition.from_cursor(after)
    found = await read_as_of(deps, as_of, partial(_entries, deps, account, before, limit))
    return found.answer or RecordPage((), None)


def _check_readable(reader: Principal, account: str) -> None:
    if not may_read_account(reader, account):
        raise NotFound("account_not_found", "no such account")


async def _balances(deps: Deps, account: str | None, instant: SealedInstant) -> tuple[AccountBalance, ...]:
    """Return balances by account and currency, without those that had no posting at the instant."""
    found: list[AccountBalance] = []
    async with aclosing(iterate_balance_pages(deps.store, instant.generation, account)) as pages:
        async for page in pages:
            found += await _balances_at(deps, instant, page)
    return tuple(sorted(found, key=lambda each: (each.account, each.currency)))


async def _balances_at(deps: Deps, instant: SealedInstant, balances: Sequence[Balance]) -> list[AccountBalance]:
    semaphore = asyncio.Semaphore(_CONCURRENT_READS)

    async def balance_at(now: Balance) -> int | None:
        if now.seq <= instant.seq:
            return now.balance  # nothing was posted since
        async with semaphore:
            last = await find_account_page_at(deps.store, instant.generation, now.account, now.currency, instant.seq)
        return None if last is None else last.closing

    micros = await asyncio.gather(*map(balance_at, balances))
    return [
        AccountBalance(account=each.account, currency=each.currency, balance=from_micros(amount))
        for each, amount in zip(balances, micros, strict=True)
        if amount is not None
    ]


async def _entries(
    deps: Deps, account: str, before: EntryPosition | None, limit: int, instant: SealedInstant
) -> RecordPage[AccountEntry]:
    seq = instant.seq if before is None else min(instant.seq, before.seq)
    entries: list[AccountEntry] = []
    after: tuple[Scalar, str] | None = None
    async with (
        aclosing(iterate_account_pages_backwards(deps.store, instant.generation, account, seq)) as pages,
        aclosing(iterate_entries_newest_first(pages, before)) as found,
    ):
        async for position, entry in found:
            if len(entries) == limit:
                return RecordPage(tuple(entries), after)
            entries.append(entry)
            after = position.cursor
    return RecordPage(tuple(entries), None)


async def read_account_days(
    deps: Deps, reader: Principal, account: str, first_day: str | None, last_day: str | None
) -> list[DayBalance]:
    """Return an account's debits, credits and closing balance for each UTC day with sealed postings.

    Raises `NotFound` also if the account is not the reader's, and `InvalidRequest` for invalid days.
    """
    _check_readable(reader, account)
    days = parse_days(first_day, last_day)
    first = () if days.first is None else (Bound(">=", days.first),)
    last = () if days.last is None else (Bound("<=", days.last),)

    async def read(state: ProjectionState) -> list[DayBalance]:
        equal = {"generation": state.generation, "account": account}
        query = Query(DAYS.collection, equal, "day", bounds=(*first, *last), limit=BATCH)
        async with aclosing(iterate_records(deps.store, DAYS, query)) as found:
            return [each async for each in found]

    return await read_consistent(deps, Projection.ACCOUNTS, read) or []


async def read_settlement(deps: Deps, reader: Principal, contract_id: str) -> Settlement:
    """Return the settlement of a contract. Raises `NotFound` also if it is not the reader's."""
    stored = await SETTLEMENTS.get(deps.store, key_of(contract_id))
    if stored is None or not may_read_settlement(reader, stored.record):
        raise NotFound("settlement_not_found", "no settlement of this contract")
    return stored.record


async def list_settlements(deps: Deps, reader: Principal, query: SettlementFilter, paging: PageRequest) -> bytes:
    """Return a page of the reader's settlements as JSON, newest first.

    Raises `InvalidRequest` for invalid days.
    """
    return await read_page_as_json(deps.store, _settlements(reader, query), paging, partial(_render_settlement, reader))


async def read_settlement_page(
    deps: Deps, reader: Principal, query: SettlementFilter, paging: PageRequest
) -> ListPage[dict[str, Any]]:
    """Return a page of the reader's settlements as dictionaries of visible fields, newest first.

    Raises `InvalidRequest` for invalid days.
    """
    return await read_page(deps.store, _settlements(reader, query), paging, partial(_render_settlement, reader))


def _settlements(reader: Principal, query: SettlementFilter) -> Listing[Settlement]:
    period = parse_period(query.first_day, query.last_day)
    own = own_party_filter(reader)
    is_foreign = any(query.equal.get(name, value) != value for name, value in own.items())
    sets = () if is_foreign else ({**query.equal, **own},)  # rows of another party: as if there were none
    # Of a settlement only values are hidden: what a consumer sees of it bounds its page.
    hidden = 0 if reader.role is Audience.CONSUMER else None
    return Listing(SETTLEMENTS, sets, "settled_at", "desc", period_bounds(period), hidden_bytes=hidden)


async def _render_settlement(
    reader: Principal, pages: PageReader, settlement: Settlement
) -> dict[str, Any] | Partial[dict[str, Any]]:
    view = await pages.run_in_thread_if_large(lambda: render_settlement(settlement, reader))
    return Partial(view) if reader.role is Audience.CONSUMER and not is_paid_or_successful(settlement) else view
