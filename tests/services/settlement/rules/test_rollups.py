"""Rollups: each booking is counted once in every view, under the dimensions that the view keeps apart."""

from datetime import datetime

import pytest

from aex_models.settlement import TransactionKind
from aex_settlement.rules.rollups import (
    VIEWS,
    build_updated_rollup,
    compute_rollup_changes,
    list_rollup_groups,
    view_name,
)
from tests.services.settlement.journal.booking import Moved, Settled, transaction_of
from tests.services.settlement.outcomes import NOON

ONE = Settled(1, agent="bot", consumer="acme", domain="general", currency="EUR")


def test_a_booking_belongs_to_one_group_of_each_view_by_what_the_view_keeps_apart() -> None:
    groups = list_rollup_groups(transaction_of(ONE, NOON))
    assert tuple(group.view for group in groups) == VIEWS
    for group in groups:
        named = {"agent": group.agent, "consumer": group.consumer, "domain": group.domain}
        kept = {name: value for name, value in named.items() if value is not None}
        assert view_name(kept) == group.view
        assert kept.items() <= {"agent": "bot", "consumer": "acme", "domain": "general"}.items()
        assert (group.currency, group.month) == ("EUR", "2025-03")
    assert set(compute_rollup_changes([transaction_of(ONE, NOON)])) == set(groups)


@pytest.mark.parametrize("requested", [("domain", "agent"), ("agent", "domain"), {"agent", "domain"}])
def test_view_name_is_independent_of_order(requested: tuple[str, ...]) -> None:
    assert view_name(requested) == "agent+domain"


def test_deposits_and_adjustments_are_in_no_rollup() -> None:
    deposit = transaction_of(Moved(1, TransactionKind.DEPOSIT, "platform:cash", "consumer:acme", 5), NOON)
    assert list_rollup_groups(deposit) == ()
    assert compute_rollup_changes([deposit]) == {}


def test_days_are_kept_in_their_order_whenever_they_are_added() -> None:
    late, early = (transaction_of(Settled(day), _noon_of(day)) for day in (9, 2))
    (everybody, *_) = list_rollup_groups(late)
    first = build_updated_rollup("gen_1", everybody, None, compute_rollup_changes([late])[everybody])
    both = build_updated_rollup("gen_1", everybody, first, compute_rollup_changes([early, late])[everybody])
    assert [(day.day, day.settlements) for day in both.days] == [("2025-03-02", 1), ("2025-03-09", 2)]


def _noon_of(day: int) -> datetime:
    return NOON.replace(day=day)
