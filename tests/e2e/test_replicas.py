"""Three processes of each service on the same data: together they do what one does, whichever of them dies."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aex_cli.suite.service_spec import MODULES
from tests.e2e.accounts import check_attempts, check_books
from tests.e2e.backend import EMBEDDED, EMULATED, Backend
from tests.e2e.counts import object_counts, until_published
from tests.e2e.killing import kill
from tests.e2e.live import Live, live_suite
from tests.e2e.load import Load, say, table
from tests.e2e.once import check_awards, check_outputs
from tests.e2e.parties import parties_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(400)]
REPLICAS = 3
CONTRACTS = {EMBEDDED.name: 60, EMULATED: 120}
CLIENTS = 12


@pytest.fixture
def replicated(tmp_path: Path, backend: Backend) -> Iterator[Live]:
    """Three of each, with nothing in the store; requests go to any of them."""
    with live_suite(tmp_path / ".aex", backend, replicas=REPLICAS) as live:
        yield live
        assert live.breakdowns() == []


def test_replicas_settle_all_that_they_accepted_once(replicated: Live, capsys: pytest.CaptureFixture[str]) -> None:
    load = run(replicated, capsys, killing=False)
    check_books(load)
    check_attempts(load, untroubled=True)
    check_records(load)
    check_keys(replicated)


def test_replicas_of_which_one_of_each_is_killed_settle_all_that_they_accepted_once(
    replicated: Live, capsys: pytest.CaptureFixture[str]
) -> None:
    load = run(replicated, capsys, killing=True)
    check_books(load)
    check_attempts(load)
    check_records(load)
    for service in MODULES:
        replicated.running.told(f"{service}-2 is ready again")


def run(live: Live, capsys: pytest.CaptureFixture[str], *, killing: bool) -> Load:
    """A load, until all of it is where it is meant to be; says what became of it."""
    load, contracts, begin = Load(live), CONTRACTS[live.backend.name], time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as pool:
        work = load.start(pool, contracts)
        if killing:
            kill_one_of_each(live, load, contracts)
        for each in work:
            each.result()
    load.until_at_rest()
    seconds = time.monotonic() - begin
    until_published(live)
    name = f"{live.backend.name}, {'one of each killed' if killing else 'left alone'}"
    say(capsys, f"{table([(name, load.found())], 'three replicas')}  in {seconds:.0f} s")
    assert len(load.accepted) == contracts
    return load


def kill_one_of_each(live: Live, load: Load, contracts: int) -> None:
    """One service after the other loses its second process while the load is under way."""
    for place, service in enumerate(MODULES, start=1):
        load.until_accepted(contracts * place // (len(MODULES) + 2))
        kill(live, service, replica=2)


def check_records(load: Load) -> None:
    """The suite had this load alone: so many records of each kind, and none more."""
    counts, settled = object_counts(load.live), len(load.settled())
    assert counts["verification-outcomes"] == counts["settlement-settlements"] == settled
    assert counts["settlement-transactions"] == settled
    assert counts["verification-attempts"] == load.candidates.total()
    assert counts["work-publisher-awards"] == len(load.accepted)


def check_keys(live: Live) -> None:
    """A key has one effect, whichever replicas the requests reach: none of them knows what the others are at."""
    parties = parties_of(live)
    check_awards(parties)
    check_outputs(live, parties)
