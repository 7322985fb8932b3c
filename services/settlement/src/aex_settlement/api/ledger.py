"""Routes of the ledger: trial balance, deposits and adjustments, accounts and their entries."""

from typing import Annotated

from fastapi import APIRouter, Body, Response
from fastapi.openapi.models import Example

from aex_models.settlement import TransactionRequest
from aex_runtime.http.large_pages import PageReader
from aex_runtime.http.listing import ListPage, encode_page, encoded_json_response
from aex_settlement.api.parameters import (
    AccountId,
    AsOf,
    Finance,
    Idempotency,
    Json,
    Page,
    Reader,
    build_visible_json_response,
    select_visible_fields,
)
from aex_settlement.deps import Deps
from aex_settlement.handlers.post_transactions import post_transaction
from aex_settlement.handlers.read_ledger import list_entries, read_account, read_transaction, read_trial_balance
from aex_settlement.rules.transactions import CASH, FEES

_EXAMPLES = {
    kind: Example(
        value={
            "kind": kind,
            "postings": [
                {"account": debited, "amount": 100_000_000, "currency": "USD"},
                {"account": "consumer:acme", "amount": -100_000_000, "currency": "USD"},
            ],
            "reason": reason,
        }
    )
    for kind, debited, reason in (("deposit", CASH, "wire 4711"), ("adjustment", FEES, "credit for an outage"))
}
"""Request examples for the OpenAPI document, because its schema cannot say that postings sum to zero."""


def add_ledger_routes(router: APIRouter, deps: Deps) -> None:
    """Add the routes `/trial-balance` and `/ledger/transactions` to the router."""

    @router.get("/trial-balance", response_model=Json)
    async def get_trial_balance(reader: Finance, as_of: AsOf = None) -> Response:
        """Return all accounts at a sealed instant.

        The sum of each currency is zero; up to `complete_to` the answer never changes.
        """
        balance = await read_trial_balance(deps, as_of)
        return await build_visible_json_response(balance, reader)

    @router.post("/ledger/transactions", status_code=201)
    async def post_ledger_transaction(
        finance: Finance,
        body: Annotated[TransactionRequest, Body(openapi_examples=_EXAMPLES)],
        once: Idempotency,
        response: Response,
    ) -> Json:
        """Post a deposit (cash +, consumer −) or an adjustment; amounts are integer micros, 1.00 is 1000000."""
        effect = await post_transaction(deps, body, finance.id, once)
        response.headers.update(effect.headers)
        return select_visible_fields(await read_transaction(deps, effect.resource_id), finance)


def add_account_routes(router: APIRouter, deps: Deps) -> None:
    """Add the routes `/accounts/{id}` and `/accounts/{id}/entries` to the router."""

    # Ids of principals may contain a slash, hence `path`; entries first, or `/entries` would be part of the id.
    @router.get("/accounts/{account_id:path}/entries", response_model=Json)
    async def get_entries(reader: Reader, account_id: AccountId, paging: Page, as_of: AsOf = None) -> Response:
        """Return an account's entries, newest first; amounts are integer micros, + debit, − credit.

        An account whose own id ends in `/entries` has no address of its own.
        """
        found = await list_entries(deps, reader, account_id, as_of, paging.after, paging.limit)
        async with PageReader(deps.store, paging.large_pages) as pages:
            await pages.count_bytes_and_acquire_slot_if_large(
                sum(len(each.model_dump_json()) for each in found.records)
            )
            items = await pages.run_in_thread_if_large(
                lambda: tuple(select_visible_fields(each, reader) for each in found.records)
            )
            return encoded_json_response(await encode_page(pages, ListPage(items, found.after), paging))

    @router.get("/accounts/{account_id:path}")
    async def get_account(reader: Reader, account_id: AccountId, as_of: AsOf = None) -> Json:
        """Return an account's balance in each of its currencies: debits less credits.

        `consumer:acme/entries` addresses the entries of `consumer:acme`.
        """
        return select_visible_fields(await read_account(deps, reader, account_id, as_of), reader)
