"""Accounts and their entries."""

from fastapi import APIRouter

from aex_runtime.http.pagination import page
from aex_settlement.api.parameters import AccountId, AsOf, Json, Page, Reader, shown
from aex_settlement.deps import Deps
from aex_settlement.handlers.read_ledger import list_entries, read_account


def account_routes(router: APIRouter, deps: Deps) -> None:
    """`/accounts/{id}` and `/accounts/{id}/entries`."""

    # Principals may have a slash in their ids, hence `path`; entries first, or they would be part of the id.
    @router.get("/accounts/{account_id:path}/entries")
    async def get_entries(reader: Reader, account_id: AccountId, paging: Page, as_of: AsOf = None) -> Json:
        """An account's postings, newest first; amounts are integer micros, + debit, − credit.

        What ends in `/entries` is always read so: an account whose own id ends so has no address of its own.
        """
        found = await list_entries(deps, reader, account_id, as_of, paging.after, paging.limit)
        return page([shown(each, reader) for each in found.records], found.after, paging)

    @router.get("/accounts/{account_id:path}")
    async def get_account(reader: Reader, account_id: AccountId, as_of: AsOf = None) -> Json:
        """An account's balance in each of its currencies: debits less credits.

        `consumer:acme/entries` is taken for the entries of `consumer:acme`.
        """
        return shown(await read_account(deps, reader, account_id, as_of), reader)
