"""Settlements by group and month: into which sums each booking goes. Pure; integers, whose order does not matter."""

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

from aex_models.booking import Booking
from aex_models.settlement import LedgerTransaction
from aex_settlement.rules.projected import DaySums, Rollup, day_of

DIMENSIONS = ("agent", "consumer", "domain")
"""What settlements are told apart by."""


def view_of(dimensions: Collection[str]) -> str:
    """The view that keeps these dimensions apart, in whatever order they come: `agent+domain`."""
    return "+".join(each for each in DIMENSIONS if each in dimensions)


VIEWS = tuple(view_of(kept) for size in range(len(DIMENSIONS) + 1) for kept in combinations(DIMENSIONS, size))
"""Every subset of the dimensions: all settlements together (empty), by agent, …, by agent, consumer and domain."""


class Group(NamedTuple):
    """Whose sums one `Rollup` holds; the dimensions that its view does not keep apart are None."""

    view: str
    agent: str | None
    consumer: str | None
    domain: str | None
    currency: str
    month: str


Changes = Mapping[Group, Mapping[str, DaySums]]
"""What is added to each group on each of its days."""


def groups_of(transaction: LedgerTransaction) -> tuple[Group, ...]:
    """The groups that a transaction is counted in: one for each view, or none where it books no settlement."""
    booking = transaction.booking
    if booking is None:
        return ()
    month = day_of(transaction.occurred_at)[:7]
    return _groups(booking.agent_id, booking.consumer_id, booking.domain, _currency(transaction), month)


def rollup_changes(transactions: Iterable[LedgerTransaction]) -> Changes:
    """What these transactions add to each group: the bookings of settlements, and of reversals, which are negative."""
    finest: dict[tuple[str, str, str, str, str], DaySums] = {}
    for transaction in transactions:
        booking = transaction.booking
        if booking is not None:
            day = day_of(transaction.occurred_at)
            cell = (booking.agent_id, booking.consumer_id, booking.domain, _currency(transaction), day)
            sums, known = _sums(day, booking), finest.get(cell)
            finest[cell] = sums if known is None else _added(known, sums)
    changes: dict[Group, dict[str, DaySums]] = {}
    for (agent, consumer, domain, currency, day), sums in finest.items():
        for group in _groups(agent, consumer, domain, currency, day[:7]):
            _add(changes.setdefault(group, {}), sums)
    return changes


def add_changes(total: dict[Group, dict[str, DaySums]], changes: Changes) -> None:
    """Add changes to those of other transactions."""
    for group, days in changes.items():
        into = total.setdefault(group, {})
        for sums in days.values():
            _add(into, sums)


def changed(generation: str, group: Group, seen: Rollup | None, days: Mapping[str, DaySums]) -> Rollup:
    """The group's rollup with these sums added; `seen` is None where it has none yet."""
    sums = {each.day: each for each in seen.days} if seen else {}
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
    """One group for each of `VIEWS`. Spelled out, because every booking passes here twice."""
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


def _currency(transaction: LedgerTransaction) -> str:
    """A settlement, and so its reversal, is in one currency."""
    return transaction.postings[0].currency


def _sums(day: str, booking: Booking) -> DaySums:
    return DaySums(
        day,
        booking.count,
        booking.success_count,
        booking.cpc,
        booking.cpa_bonus,
        booking.cpa_penalty,
        booking.total,
    )


def _add(days: dict[str, DaySums], sums: DaySums) -> None:
    known = days.get(sums.day)
    days[sums.day] = sums if known is None else _added(known, sums)


def _added(one: DaySums, other: DaySums) -> DaySums:
    # Spelled out: this runs millions of times in a rebuild, and a loop over the fields takes four times as long.
    return DaySums(
        one.day,
        one.booked + other.booked,
        one.succeeded + other.succeeded,
        one.cpc + other.cpc,
        one.cpa_bonus + other.cpa_bonus,
        one.cpa_penalty + other.cpa_penalty,
        one.total + other.total,
    )
