"""The account that the crash tests give of a load is able to be bad."""

import pytest

from tests.e2e.conftest import EMBEDDED_ALONE
from tests.e2e.jobs import GOOD, contract, deliver, until_settled
from tests.e2e.live import Live
from tests.e2e.load import Kind, Load
from tests.e2e.stores import transactions_of

pytestmark = [pytest.mark.e2e, EMBEDDED_ALONE]


def test_missing_open_or_twice_posted_contracts_are_errors(live: Live) -> None:
    load = Load(live)
    unheard_of, untouched = "ctr_unheard_of", contract(load.parties)
    posted_twice, settled = contract(load.parties), contract(load.parties)
    for each in (posted_twice, settled):
        deliver(load.parties, each, GOOD)
        until_settled(load.parties.finance, each)
    path = f"/v1/settlements/{posted_twice}/reversals"
    answer = load.parties.finance.post("settlement", path, {"reason": "a second transaction"})
    assert answer.status_code == 201, answer.text
    assert len(transactions_of(live, posted_twice)) == 2
    load.accepted = dict.fromkeys((unheard_of, untouched, posted_twice, settled), Kind.SETTLED)
    assert load.ends() == {
        unheard_of: Kind.LOST,
        untouched: Kind.OPEN,
        posted_twice: Kind.TWICE,
        settled: Kind.SETTLED,
    }
