"""Transactions to book, drawn at random or made by hand, and how they get into the ledger."""

from dataclasses import dataclass, replace
from datetime import datetime

from hypothesis import strategies as st

from aex_models.corrections import Booking
from aex_models.settlement import LedgerTransaction, Posting, TransactionKind
from aex_runtime.unit_of_work import Unit
from aex_settlement.repository.ledger import create_unsealed_transactions
from aex_settlement.rules.transactions import make_reversal_transaction_id, make_settlement_transaction_id
from tests.services.settlement.ledger_kit import LedgerKit

BIG = 2**53 - 1
"""The largest posting: two of them are more than JSON can hold as a number."""


@dataclass(frozen=True)
class Settled:
    contract: int
    agent: str = "bot"
    consumer: str = "acme"
    domain: str = "general"
    currency: str = "USD"
    total: int = 1_500_000
    success: bool = True
    sign: int = 1

    @property
    def reversed(self) -> "Settled":
        return replace(self, sign=-1)


@dataclass(frozen=True)
class Moved:
    number: int
    kind: TransactionKind
    debited: str
    credited: str
    amount: int
    currency: str = "USD"


Drawn = Settled | Moved


def transaction_of(drawn: Drawn, at: datetime, reason: str = "drawn") -> LedgerTransaction:
    if isinstance(drawn, Moved):
        sides = ((drawn.debited, drawn.amount), (drawn.credited, -drawn.amount))
        return LedgerTransaction(
            id=f"txn_{drawn.number}",
            kind=drawn.kind,
            postings=tuple(Posting(account=name, amount=side, currency=drawn.currency) for name, side in sides),
            occurred_at=at,
            reason=reason,
            by="ledger-desk",
        )
    contract_id, sign = f"ctr_{drawn.contract}", drawn.sign
    make_id = make_settlement_transaction_id if sign == 1 else make_reversal_transaction_id
    fee = 100 if drawn.total >= 100 else 0
    postings = [
        Posting(account=f"consumer:{drawn.consumer}", amount=sign * drawn.total, currency=drawn.currency),
        Posting(account=f"agent:{drawn.agent}", amount=sign * (fee - drawn.total), currency=drawn.currency),
    ]
    if fee:
        postings.append(Posting(account="platform:fees", amount=-sign * fee, currency=drawn.currency))
    return LedgerTransaction(
        id=make_id(contract_id, 1),
        contract_id=contract_id,
        kind=TransactionKind.SETTLEMENT if sign == 1 else TransactionKind.REVERSAL,
        postings=tuple(postings),
        occurred_at=at,
        reason=reason,
        booking=Booking(
            revision=1,
            work_id="work_1",
            agent_id=drawn.agent,
            consumer_id=drawn.consumer,
            domain=drawn.domain,
            count=sign,
            success_count=sign * drawn.success,
            cpc=sign * (drawn.total // 2),
            cpa_bonus=sign * (drawn.total - drawn.total // 2 + 7),
            cpa_penalty=sign * 7,
            total=sign * drawn.total,
            fee=sign * fee,
        ),
    )


async def book(ledger: LedgerKit, *drawn: Drawn | LedgerTransaction) -> list[LedgerTransaction]:
    """Commit each in a transaction of its own."""
    posted = []
    for each in drawn:

        async def post(unit: Unit, each: Drawn | LedgerTransaction = each) -> LedgerTransaction:
            transaction = each if isinstance(each, LedgerTransaction) else transaction_of(each, unit.now)
            create_unsealed_transactions(unit, transaction)
            return transaction

        posted.append(await ledger.deps.unit_of_work.run(post))
    return posted


async def book_together(ledger: LedgerKit, contracts: range) -> None:
    """Commit a settlement of each contract, all in one transaction."""

    async def post(unit: Unit) -> None:
        for contract in contracts:
            create_unsealed_transactions(unit, transaction_of(Settled(contract), unit.now))

    await ledger.deps.unit_of_work.run(post)


def settlements(contract: int) -> st.SearchStrategy[Settled]:
    return st.builds(
        Settled,
        st.just(contract),
        st.sampled_from(["bot", "crew/two", "acme"]),
        st.sampled_from(["acme", "globex"]),
        st.sampled_from(["general", "science/physics"]),
        st.sampled_from(["USD", "EUR"]),
        st.sampled_from([0, 1, 99, 1_500_000, 10**15, BIG]),
        st.booleans(),
    )


def moves(number: int) -> st.SearchStrategy[Moved]:
    accounts = st.sampled_from(["consumer:acme", "consumer:globex", "agent:bot", "platform:fees", "platform:cash"])
    kinds = st.sampled_from([TransactionKind.DEPOSIT, TransactionKind.ADJUSTMENT])
    amounts = st.sampled_from([1, 5_000_000, BIG])
    return st.builds(Moved, st.just(number), kinds, accounts, accounts, amounts, st.sampled_from(["USD", "EUR"]))
