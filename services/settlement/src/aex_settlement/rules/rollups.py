"""Rollups: integer sums of settlements by group and month, independent of their order."""

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

from aex_models.settlement import LedgerTransaction
from aex_settlement.rules.projections import DaySums, Rollup, day_of

DIMENSIONS = ("agent", "consumer", "domain")
"""Dimensions by which settlements are grouped."""


def view_name(dimensions: Collection[str]) -> str:
    """Return the name of the view with these dimensions, such as `agent+domain`."""
    return "+".join(each for each in DIMENSIONS if each in dimensions)


VIEWS = tuple(view_name(names) for size in range(len(DIMENSIONS) + 1) for names in combinations(DIMENSIONS, size))
"""Names of all views, one for each subset of the dimensions; the empty name is that of all settlements."""


class Group(NamedTuple):
    """Key of a `Rollup`; dimensions that its view does not have are None."""

    view: str
    agent: str | None
    consumer: str | None
    domain: str | None
    currency: str
    month: str


Changes = Mapping[Group, Mapping[str, DaySums]]
"""Sums to add to rollups, by group and day."""


def list_rollup_groups(transaction: LedgerTransaction) -> tuple[Group, ...]:
    """Return the rollup groups of a transaction, one for each view; none for a deposit or adjustment."""
    booking = transaction.booking
    if booking is None:
        return ()
    month = day_of(transaction.occurred_at)[:7]
    return _groups(booking.agent_id, booking.consumer_id, booking.domain, transaction.postings[0].currency, month)


def compute_rollup_changes(transactions: Iterable[LedgerTransaction]) -> Changes:
    """Return the sums that settlements add to each rollup group; reversals add negative ones."""
    finest: dict[tuple[str, str, str, str, str], DaySums] = {}
    for transaction in transactions:
        booking = transaction.booking
        if booking is not None:
            day = day_of(transaction.occurred_at)
            currency = transaction.postings[0].currency  # a settlement has one
            cell = (booking.agent_id, booking.consumer_id, booking.domain, currency, day)
            amounts = (booking.cpc, booking.cpa_bonus, booking.cpa_penalty, booking.total)
            sums, before = DaySums(day, booking.count, booking.success_count, *amounts), finest.get(cell)
            finest[cell] = sums if before is None else _sum(before, sums)
    changes: dict[Group, dict[str, DaySums]] = {}
    for (agent, consumer, domain, currency, day), sums in finest.items():
        for group in _groups(agent, consumer, domain, currency, day[:7]):
            _add(changes.setdefault(group, {}), sums)
    return changes


def add_changes(total: dict[Group, dict[str, DaySums]], changes: Changes) -> None:
    """Add `changes` to the sums in `total`."""
    for group, days in changes.items():
        into = total.setdefault(group, {})
        for sums in days.values():
            _add(into, sums)


def build_updated_rollup(generation: str, group: Group, before: Rollup | None, days: Mapping[str, DaySums]) -> Rollup:
    """Return the group's rollup with these sums added by day; `before` is None for a new rollup."""
    sums = {each.day: each for each in before.days} if before else {}
    for each in days.values():
        _add(sums, each)
    return Rollup(
        generation=generation,
        view=group.view,
        agent=group.agent,
        consumer=group.consumer,
        domain=group.domain,
        currency=group.currency,
        month=group.month,
        days=tuple(sums[day] for day in sorted(sums)),
    )


def _groups(agent: str, consumer: str, domain: str, currency: str, month: str) -> tuple[Group, ...]:
    # Spelled out in the order of `VIEWS`: a loop is slower, and each settlement comes here twice.
    return (
        Group("", None, None, None, currency, month),
        Group("agent", agent, None, None, currency, month),
        Group("consumer", None, consumer, None, currency, month),
        Group("domain", None, None, domain, currency, month),
        Group("agent+consumer", agent, consumer, None, currency, month),
        Group("agent+domain", agent, None, domain, currency, month),
        Group("consumer+domain", None, consumer, domain, currency, month),
        Group("agent+consumer+domain", agent, consumer, domain, currency, month),
    )


def _add(days: dict[str, DaySums], sums: DaySums) -> None:
    before = days.get(sums.day)
    days[sums.day] = sums if before is None else _sum(before, sums)


def _sum(one: DaySums, other: DaySums) -> DaySums:
    # Spelled out: this runs millions of times in a rebuild, and a loop over the fields takes four times as long.
    return DaySums(
        one.day,
        one.settlements + other.settlements,
        one.successes + other.successes,
        one.cpc + other.cpc,
        one.cpa_bonus + other.cpa_bonus,
        one.cpa_penalty + other.cpa_penalty,
        one.total + other.total,
    )
