"""Questions about the ledger: a transaction, an account and its entries, the trial balance."""

from datetime import datetime

from aex_models.settlement import Account, AccountEntry, LedgerTransaction, TrialBalance
from aex_runtime.clock import epoch_micros
from aex_runtime.errors import NotFound
from aex_runtime.identity.principal import Principal
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Scalar
from aex_settlement.deps import Deps
from aex_settlement.repository import TRANSACTIONS, Slice, each_entry, each_transaction, entries_slice
from aex_settlement.rules.balances import BalanceFold
from aex_settlement.rules.periods import parse_instant
from aex_settlement.rules.visibility import may_read_account


async def read_transaction(deps: Deps, transaction_id: str) -> LedgerTransaction:
    """A transaction of the ledger. Raises `NotFound`."""
    stored = await TRANSACTIONS.get(deps.store, key_of(transaction_id))
    if stored is None:
        raise NotFound("transaction_not_found", "no such transaction")
    return stored.record


async def read_trial_balance(deps: Deps, as_of: str | None) -> TrialBalance:
    """All accounts at an instant, now unless said otherwise. Whole transactions are summed, so it always balances.

    Raises `InvalidRequest` for what is no RFC 3339 instant.
    """
    asked, complete_to = _instants(deps, as_of)
    fold = BalanceFold()
    async for transaction in each_transaction(deps.store, epoch_micros(complete_to)):
        for posting in transaction.postings:
            fold.add(posting)
    return TrialBalance(as_of=asked, complete_to=complete_to, accounts=fold.balances())


async def read_account(deps: Deps, reader: Principal, account: str, as_of: str | None) -> Account:
    """What an account holds. Raises `NotFound` also where it is not the reader's; one never posted in is empty."""
    _check_readable(reader, account)
    asked, complete_to = _instants(deps, as_of)
    fold = BalanceFold()
    async for entry in each_entry(deps.store, account, epoch_micros(complete_to)):
        fold.add(entry)
    return Account(account=account, as_of=asked, complete_to=complete_to, balances=fold.balances())


async def list_entries(
    deps: Deps, reader: Principal, account: str, as_of: str | None, after: tuple[Scalar, str] | None, limit: int
) -> Slice[AccountEntry]:
    """A page of an account's postings, newest first. Raises `NotFound` also where it is not the reader's."""
    _check_readable(reader, account)
    _, complete_to = _instants(deps, as_of)
    return await entries_slice(deps.store, account, epoch_micros(complete_to), after, limit)


def _check_readable(reader: Principal, account: str) -> None:
    if not may_read_account(reader, account):
        raise NotFound("account_not_found", "no such account")


def _instants(deps: Deps, as_of: str | None) -> tuple[datetime, datetime]:
    """The instant that was asked for, and how far the answer reaches: never beyond now."""
    now = deps.clock.now()
    asked = parse_instant("as_of", as_of) or now
    return asked, min(asked, now)
