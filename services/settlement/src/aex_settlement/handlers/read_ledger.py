"""Questions about the books as of a sealed instant: an account, its entries, the trial balance."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from aex_models.money import from_micros
from aex_models.settlement import Account, AccountBalance, AccountEntry, LedgerTransaction, TrialBalance
from aex_runtime.errors import NotFound
from aex_runtime.identity.principal import Principal
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Scalar
from aex_runtime.store.table import Stored
from aex_settlement.deps import Deps
from aex_settlement.handlers.sealed_instant import SealedInstant, read_as_of
from aex_settlement.repository.books import balance_pages, each_sheet, sheet_at
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.pages import Slice
from aex_settlement.rules.entries import Place, each_line
from aex_settlement.rules.projected import Balance
from aex_settlement.rules.visibility import may_read_account

_AT_ONCE = 16
"""How many accounts are looked up in their books at the same time."""


async def read_transaction(deps: Deps, transaction_id: str) -> LedgerTransaction:
    """A transaction of the ledger. Raises `NotFound`."""
    stored = await TRANSACTIONS.get(deps.store, key_of(transaction_id))
    if stored is None:
        raise NotFound("transaction_not_found", "no such transaction")
    return stored.record


async def read_transactions(deps: Deps, transaction_ids: Sequence[str]) -> tuple[LedgerTransaction, ...]:
    """Transactions of the ledger, in this order, with one read. Raises `NotFound` where one of them is not there."""
    found = await TRANSACTIONS.get_many(deps.store, [key_of(each) for each in transaction_ids])
    there = tuple(each for each in found if each is not None)
    if len(there) < len(found):
        raise NotFound("transaction_not_found", "no such transaction")
    return there


async def read_trial_balance(deps: Deps, as_of: str | None) -> TrialBalance:
    """All accounts at an instant. Of whole batches, so it always balances.

    Raises `InvalidRequest` for what is no RFC 3339 instant.
    """

    async def read(instant: SealedInstant) -> tuple[AccountBalance, ...]:
        return await _balances(deps, instant, None)

    found = await read_as_of(deps, as_of, read)
    return TrialBalance(as_of=found.as_of, complete_to=found.complete_to, accounts=found.answer or ())


async def read_account(deps: Deps, reader: Principal, account: str, as_of: str | None) -> Account:
    """What an account holds. Raises `NotFound` also where it is not the reader's; one never posted in is empty."""
    _check_readable(reader, account)

    async def read(instant: SealedInstant) -> tuple[AccountBalance, ...]:
        return await _balances(deps, instant, account)

    found = await read_as_of(deps, as_of, read)
    return Account(account=account, as_of=found.as_of, complete_to=found.complete_to, balances=found.answer or ())


async def list_entries(
    deps: Deps, reader: Principal, account: str, as_of: str | None, after: tuple[Scalar, str] | None, limit: int
) -> Slice[AccountEntry]:
    """A page of an account's postings, newest first. Raises `NotFound` also where it is not the reader's."""
    _check_readable(reader, account)
    before = None if after is None else Place.at(after)

    async def read(instant: SealedInstant) -> Slice[AccountEntry]:
        return await _entries(deps, instant, account, before, limit)

    return (await read_as_of(deps, as_of, read)).answer or Slice((), None)


def _check_readable(reader: Principal, account: str) -> None:
    if not may_read_account(reader, account):
        raise NotFound("account_not_found", "no such account")


async def _balances(deps: Deps, instant: SealedInstant, account: str | None) -> tuple[AccountBalance, ...]:
    """By account and currency; without those that were not posted to by then."""
    found: list[AccountBalance] = []
    async with aclosing(balance_pages(deps.store, instant.generation, account)) as pages:
        async for page in pages:
            found += await _balances_at(deps, instant, page)
    return tuple(sorted(found, key=lambda each: (each.account, each.currency)))


async def _balances_at(deps: Deps, instant: SealedInstant, page: Sequence[Stored[Balance]]) -> list[AccountBalance]:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def held(now: Balance) -> int | None:
        if now.seq <= instant.seq:
            return now.balance  # not posted to since
        async with gate:
            sheet = await sheet_at(deps.store, instant.generation, now.account, now.currency, instant.seq)
        return None if sheet is None else sheet.closing

    balances = [stored.record for stored in page]
    micros = await asyncio.gather(*map(held, balances))
    return [
        AccountBalance(account=each.account, currency=each.currency, balance=from_micros(amount))
        for each, amount in zip(balances, micros, strict=True)
        if amount is not None
    ]


async def _entries(
    deps: Deps, instant: SealedInstant, account: str, before: Place | None, limit: int
) -> Slice[AccountEntry]:
    seq = instant.seq if before is None else min(instant.seq, before.seq)
    shown: list[AccountEntry] = []
    after: tuple[Scalar, str] | None = None
    async with (
        aclosing(each_sheet(deps.store, instant.generation, account, seq)) as sheets,
        aclosing(each_line(sheets, before)) as lines,
    ):
        async for place, entry in lines:
            if len(shown) == limit:
                return Slice(tuple(shown), after)
            shown.append(entry)
            after = place.position
    return Slice(tuple(shown), None)
