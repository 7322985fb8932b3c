from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from fractions import Fraction

from aex_models.settlement import LedgerTransaction, Settlement
from aex_settlement.rules.account_books import AccountUpdates, SealedBatch
from aex_settlement.rules.journal import JournalHead, SealedTransaction, head_of, seal
from aex_settlement.rules.projections import Rollup
from aex_settlement.rules.rollups import VIEWS, Group, rollup_changes, update_rollup
from aex_settlement.rules.transactions import FEES, agent_account, consumer_account
from tests.services.settlement.outcomes import NOON

AMOUNTS = {
    "cpc": "base",
    "cpa_bonus": "bonus",
    "cpa_penalty": "penalty",
    "total": "total",
    "fee": "fee",
    "bonus_capped": "bonus_capped",
    "penalty_waived": "penalty_waived",
}
"""The figures of a booking, and what the formulas call them."""
GENERATION = "g1"
Sums = dict[tuple[str, ...], int]
"""In micros: rationals without a remainder."""
BATCH = 4_000


def micros_of(rational: Mapping[str, Fraction]) -> dict[str, int]:
    """Rational amounts in micros, which all of them are whole multiples of."""
    micros = {name: amount * 10**6 for name, amount in rational.items()}
    assert all(each.denominator == 1 for each in micros.values())
    return {name: each.numerator for name, each in micros.items()}


def expected_postings(settlement: Settlement, micros: Mapping[str, int]) -> dict[str, int]:
    """By account: consumer +total, agent −(total − fee), fees −fee where there is one."""
    sums = {
        consumer_account(settlement.consumer_id): micros["total"],
        agent_account(settlement.agent_id): micros["fee"] - micros["total"],
    }
    return sums | {FEES: -micros["fee"]} if micros["fee"] else sums


def by_account(posted: Sequence[LedgerTransaction], size: int = BATCH) -> Sums:
    books, days = AccountUpdates(GENERATION, {}, {}), defaultdict[tuple[str, ...], int](int)
    for page in _pages(posted, size):
        books.post(page)
    for account_page in books.pages:
        assert account_page.opening + sum(line.amount for line in account_page.lines) == account_page.closing
    for position, each in books.days.items():
        days[position[:2]] += each.debits - each.credits
    assert days == {position: each.balance for position, each in books.balances.items()}
    return {tuple(position): each.balance for position, each in books.balances.items()}


def _pages(posted: Sequence[LedgerTransaction], size: int) -> Iterator[SealedBatch]:
    head = JournalHead(seq=0)
    for first in range(0, len(posted), size):
        together = posted[first : first + size]
        sealed = [SealedTransaction(id=each.id, digest="0" * 64) for each in together]
        batch = seal(head, sealed, NOON + timedelta(minutes=10) * head.seq)
        head = head_of(batch)
        yield SealedBatch(batch, together)


def by_group(posted: Sequence[LedgerTransaction], size: int = BATCH) -> dict[str, Sums]:
    """For each view what its groups come to on each day, in rollups that grew batch by batch."""
    rollups: dict[Group, Rollup] = {}
    for first in range(0, len(posted), size):
        for group, days in rollup_changes(posted[first : first + size]).items():
            grown = update_rollup(GENERATION, group, rollups.get(group), days)
            rollups[group] = Rollup.model_validate_json(grown.model_dump_json())
    found: dict[str, Sums] = {view: {} for view in VIEWS}
    for group, rollup in rollups.items():
        of = tuple(each for each in (group.agent, group.consumer, group.domain) if each is not None)
        for day in rollup.days:
            assert day.day.startswith(group.month)
            key = (*of, group.currency, day.day)
            found[group.view][*key, "count"] = day.settlements
            found[group.view][*key, "success_count"] = day.successes
            for figure in ("cpc", "cpa_bonus", "cpa_penalty", "total"):
                found[group.view][*key, figure] = getattr(day, figure)
    return found
