from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from aex_models.corrections import Replacement, ReversalRequest
from aex_models.settlement import Posting, TransactionKind, TransactionRequest
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.store.memory import MemoryStore
from aex_settlement.handlers.audit.verify import AuditReport, audit_ledger
from aex_settlement.handlers.post_transactions import post_transaction, reverse_settlement, settle_outcome
from aex_settlement.rules.audit_findings import Seal
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over
from tests.services.settlement.outcomes import NOON, an_outcome

ONCE = IdempotentRequest("finance", None, "")
BATCHES = 6
TRANSACTIONS = 9
"""A deposit, four settlements, two reversals, one settlement instead, an adjustment."""


_BUILT: dict[Callable[..., object], tuple[MemoryStore, LedgerKit]] = {}


async def copy_of(fill: Callable[[LedgerKit], Awaitable[None]]) -> LedgerKit:
    """Return a ledger in memory as `fill` leaves an empty one; it runs once."""
    if fill not in _BUILT:
        store = MemoryStore()
        _BUILT[fill] = store, ledger_kit_over(store, NOON)
        await fill(_BUILT[fill][1])
    (original, built), store = _BUILT[fill], MemoryStore()
    store._documents, store._version = dict(original._documents), original._version
    copied = ledger_kit_over(store, built.clock.now())
    return replace(copied, deps=replace(copied.deps, ids=deepcopy(built.deps.ids)))


async def deposit(ledger: LedgerKit) -> str:
    """A consumer pays in; the transaction's id."""
    return await move(ledger, TransactionKind.DEPOSIT, "platform:cash", "consumer:acme", 5_000_000, "USD")


async def adjust(ledger: LedgerKit) -> str:
    """Finance moves a fee; the transaction's id."""
    return await move(ledger, TransactionKind.ADJUSTMENT, "platform:fees", "agent:bot", 1, "EUR")


async def move(ledger: LedgerKit, kind: TransactionKind, debited: str, credited: str, micros: int, unit: str) -> str:
    sides = ((debited, micros), (credited, -micros))
    postings = tuple(Posting(account=account, amount=amount, currency=unit) for account, amount in sides)
    request = TransactionRequest(kind=kind, postings=postings, reason="wire 1")
    return (await post_transaction(ledger.deps, request, "finance:ann", ONCE)).resource_id


async def build(ledger: LedgerKit) -> None:
    """Six batches: the empty one, and one for each step, a day after the other."""
    await ledger.seal()
    await deposit(ledger)
    await settle_outcome(ledger.deps, an_outcome("ctr_1"))
    await next_day(ledger)
    await settle_outcome(ledger.deps, an_outcome("ctr_2", agent_id="crew/two", consumer_id="globex", domain="general"))
    await settle_outcome(ledger.deps, an_outcome("ctr_3"))
    await next_day(ledger)
    replacement = Replacement(base=Decimal("0.40"), bonus=Decimal("0.10"), penalty=Decimal(0))
    await reverse_settlement(
        ledger.deps, "ctr_1", ReversalRequest(reason="wrong rate", replacement=replacement), "finance:ann", ONCE
    )
    await next_day(ledger)
    await reverse_settlement(ledger.deps, "ctr_2", ReversalRequest(reason="double work"), "finance:bob", ONCE)
    await next_day(ledger)
    await settle_outcome(ledger.deps, an_outcome("ctr_4"))
    await adjust(ledger)
    await next_day(ledger)


async def next_day(ledger: LedgerKit) -> None:
    await ledger.seal()
    ledger.clock.advance(timedelta(days=1))


async def audit(ledger: LedgerKit, *known: Seal) -> AuditReport:
    return await audit_ledger(ledger.deps, known, lambda _stage, _done, _total: None)


def found(report: AuditReport) -> set[tuple[str, str]]:
    return {(each.code, each.subject) for each in report.findings.listed}
