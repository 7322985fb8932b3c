"""The ledger: the trial balance, deposits and adjustments."""

from typing import Annotated

from fastapi import APIRouter, Body, Response
from fastapi.openapi.models import Example

from aex_models.settlement import TransactionRequest
from aex_settlement.api.parameters import AsOf, Finance, Json, Once, shown
from aex_settlement.api.rendering import large_answer
from aex_settlement.deps import Deps
from aex_settlement.handlers.post_transaction import post_transaction
from aex_settlement.handlers.read_ledger import read_transaction, read_trial_balance
from aex_settlement.rules.accounts import CASH, FEES

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
"""That postings sum to zero is what their schema cannot say."""


def ledger_routes(router: APIRouter, deps: Deps) -> None:
    """`/trial-balance` and `/ledger/transactions`."""

    @router.get("/trial-balance", response_model=Json)
    async def get_trial_balance(reader: Finance, as_of: AsOf = None) -> Response:
        """All accounts at a sealed instant. Sums to zero in each currency; up to `complete_to` it never changes."""
        found = await read_trial_balance(deps, as_of)
        return await large_answer(found, reader)

    @router.post("/ledger/transactions", status_code=201)
    async def post_ledger_transaction(
        finance: Finance,
        body: Annotated[TransactionRequest, Body(openapi_examples=_EXAMPLES)],
        once: Once,
        response: Response,
    ) -> Json:
        """Post a deposit (cash +, consumer −) or an adjustment; amounts are integer micros, 1.00 is 1000000."""
        effect = await post_transaction(deps, body, finance.id, once)
        response.headers.update(effect.headers)
        return shown(await read_transaction(deps, effect.resource_id), finance)
