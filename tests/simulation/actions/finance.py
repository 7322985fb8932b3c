"""Actions of finance: reversals, corrections, deposits and adjustments."""

from decimal import Decimal
from typing import TYPE_CHECKING

from aex_models.corrections import Replacement, ReversalRequest
from aex_models.settlement import Posting, TransactionKind, TransactionRequest
from aex_settlement.handlers.post_transactions import post_transaction, reverse_settlement
from tests.simulation.actions.requests import retry_until_answered

if TYPE_CHECKING:
    from tests.simulation.world import World

_AMOUNTS = ("0", "0.1", "0.000001", "2.5")


async def correct_a_settlement(world: "World") -> None:
    """Reverse a settlement, perhaps with a replacement, and perhaps send the request twice."""
    settled = sorted(world.seen.settlements)
    if not settled:
        return
    contract_id, deps = world.dice.choice(settled), world.suite.settlement_deps
    base, bonus = (Decimal(world.dice.choice(_AMOUNTS)) for _ in range(2))
    replacement = Replacement(base=base, bonus=bonus, penalty=min(base, Decimal("0.05")))
    request = ReversalRequest(
        reason="a complaint",
        replacement=replacement if world.dice.random() < 0.7 else None,
        revision=world.dice.choice([None, None, 1, 2]),
    )
    await retry_until_answered(
        world,
        world.suite.settlement,
        "reverse_settlement",
        lambda key: reverse_settlement(deps, contract_id, request, "fiona", key),
    )


async def post_by_hand(world: "World") -> None:
    """Post a deposit, or an adjustment between any accounts."""
    deps, micros = world.suite.settlement_deps, world.dice.randint(1, 5_000_000)
    deposit = world.dice.random() < 0.5
    debited, credited = ("platform:cash", "consumer:acme") if deposit else ("agent:bot", "platform:fees")
    request = TransactionRequest(
        kind=TransactionKind.DEPOSIT if deposit else TransactionKind.ADJUSTMENT,
        postings=(
            Posting(account=debited, amount=micros, currency="USD"),
            Posting(account=credited, amount=-micros, currency="USD"),
        ),
        reason="as agreed",
    )
    await retry_until_answered(
        world,
        world.suite.settlement,
        "post_transaction",
        lambda key: post_transaction(deps, request, "fiona", key),
    )
