"""Lag of the projections: a settlement is in the breakdown and its accounts within a second, embedded."""

from collections.abc import Callable
from datetime import UTC, datetime
from statistics import median

import pytest

from tests.e2e.backend import EMBEDDED
from tests.e2e.jobs import GOOD, contract, deliver, eventually, until_settled
from tests.e2e.live import Live
from tests.e2e.load import say
from tests.e2e.parties import Parties

pytestmark = [pytest.mark.e2e, pytest.mark.parametrize("live", [EMBEDDED.name], indirect=True, scope="session")]
SETTLEMENTS = 7
LAG_S = 1.0
_POLL_S = 0.005


def test_a_settlement_is_in_the_books_within_a_second(
    live: Live, parties: Parties, capsys: pytest.CaptureFixture[str]
) -> None:
    def in_breakdown() -> int:
        totals = parties.consumer.read("settlement", "/v1/settlements/breakdown", group_by="day")["totals"]
        return sum(each["count"] for each in totals)

    def in_account() -> int:
        account = f"/v1/accounts/consumer:{parties.consumer.id}/entries"
        return len(parties.consumer.read("settlement", account)["items"])

    lags: dict[str, list[float]] = {"breakdown": [], "account": []}
    for number in range(1, SETTLEMENTS + 1):
        contract_id = contract(parties)
        deliver(parties, contract_id, GOOD)
        settled = datetime.fromisoformat(until_settled(parties.finance, contract_id, poll_s=0.001)["settled_at"])
        for name, count in (("breakdown", in_breakdown), ("account", in_account)):
            lags[name].append(lag(settled, count, number))
    figures = (
        f"{name}: median {median(found) * 1e3:.0f} ms, longest {max(found) * 1e3:.0f} ms"
        for name, found in lags.items()
    )
    say(capsys, f"settled → in the books, {live.backend.name}: {'; '.join(figures)}")
    assert all(median(found) <= LAG_S for found in lags.values()), lags


def lag(settled: datetime, count: Callable[[], int], expected: int) -> float:
    """Seconds from the settlement to the answer that has it."""
    eventually(lambda: count() >= expected or None, what="the settlement in the books", poll_s=_POLL_S)
    return (datetime.now(UTC) - settled).total_seconds()
