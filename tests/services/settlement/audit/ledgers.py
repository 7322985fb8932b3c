"""A small ledger with everything in it: deposits, settlements, reversals with and without what comes instead."""

from datetime import timedelta
from decimal import Decimal

from aex_models.corrections import Replacement, ReversalRequest
from aex_models.settlement import Posting, TransactionKind, TransactionRequest
from aex_runtime.http.idempotency import IdempotentRequest
from aex_settlement.handlers.audit_ledger import Audited, audit_ledger
from aex_settlement.handlers.post_transaction import post_transaction
from aex_settlement.handlers.reverse_settlement import reverse_settlement
from aex_settlement.handlers.settle_outcome import settle_outcome
from aex_settlement.rules.audit.findings import Seal
from tests.services.settlement.desk import Desk
from tests.services.settlement.outcomes import an_outcome

ONCE = IdempotentRequest("finance", None, "")
BATCHES = 6
TRANSACTIONS = 9
"""A deposit, four settlements, two reversals, one settlement instead, an adjustment."""


async def deposit(desk: Desk, micros: int = 5_000_000) -> str:
    """A consumer pays in; the transaction's id."""
    postings = (
        Posting(account="platform:cash", amount=micros, currency="USD"),
        Posting(account="consumer:acme", amount=-micros, currency="USD"),
    )
    request = TransactionRequest(kind=TransactionKind.DEPOSIT, postings=postings, reason="wire 1")
    return (await post_transaction(desk.deps, request, "finance:ann", ONCE)).resource_id


async def adjust(desk: Desk) -> str:
    """Finance moves a fee; the transaction's id."""
    postings = (
        Posting(account="platform:fees", amount=1, currency="EUR"),
        Posting(account="agent:bot", amount=-1, currency="EUR"),
    )
    request = TransactionRequest(kind=TransactionKind.ADJUSTMENT, postings=postings, reason="rounding")
    return (await post_transaction(desk.deps, request, "finance:ann", ONCE)).resource_id


async def build(desk: Desk) -> None:
    """Six batches: the empty one, and one for each step, a day after the other."""
    await desk.seal()
    await deposit(desk)
    await settle_outcome(desk.deps, an_outcome("ctr_1"))
    await next_day(desk)
    await settle_outcome(desk.deps, an_outcome("ctr_2", agent_id="crew/two", consumer_id="globex", domain="general"))
    await settle_outcome(desk.deps, an_outcome("ctr_3"))
    await next_day(desk)
    replacement = Replacement(base=Decimal("0.40"), bonus=Decimal("0.10"), penalty=Decimal(0))
    await reverse_settlement(
        desk.deps, "ctr_1", ReversalRequest(reason="wrong rate", replacement=replacement), "finance:ann", ONCE
    )
    await next_day(desk)
    await reverse_settlement(desk.deps, "ctr_2", ReversalRequest(reason="double work"), "finance:bob", ONCE)
    await next_day(desk)
    await settle_outcome(desk.deps, an_outcome("ctr_4"))
    await adjust(desk)
    await next_day(desk)


async def next_day(desk: Desk) -> None:
    """Seal what waits, and let a day pass."""
    await desk.seal()
    desk.clock.advance(timedelta(days=1))


async def audit(desk: Desk, *known: Seal) -> Audited:
    """An audit of the desk's ledger."""
    return await audit_ledger(desk.deps, known, lambda _stage, _done, _total: None)


def found(audited: Audited) -> set[tuple[str, str]]:
    """What was found: codes and subjects."""
    return {(each.code, each.subject) for each in audited.findings.shown}
