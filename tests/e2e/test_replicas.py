"""Two processes of each service on the same data act as one, whichever of them dies."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from aex_cli.suite.service_spec import MODULES
from tests.e2e.accounts import check_attempts, check_books, check_records
from tests.e2e.counts import object_counts, until_published
from tests.e2e.killing import kill
from tests.e2e.live import Live
from tests.e2e.load import Load, say, table
from tests.e2e.once import check_awards, check_outputs
from tests.e2e.parties import parties_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]
CONTRACTS = 20
CLIENTS = 12


def test_replicas_settle_all_that_they_accepted_once_while_each_service_loses_one(
    replicated: Live, capsys: pytest.CaptureFixture[str]
) -> None:
    live, before = replicated, object_counts(replicated)
    live.running.err.clear()  # of the tests before
    calm, killed = run(live, capsys, killing=False), run(live, capsys, killing=True)
    for location, service in enumerate(MODULES):
        live.running.wait_for_error(f"{live.labels(service)[location % live.replicas]} is ready again")
    check_books(calm, killed)
    check_attempts(calm, untroubled=True)
    check_attempts(killed)
    check_records(calm, killed, before=before)
    check_keys(live)


def run(live: Live, capsys: pytest.CaptureFixture[str], *, killing: bool) -> Load:
    """A load, until all of it is where it is meant to be; says what became of it."""
    load, begin = Load(live), time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as pool:
        work = load.start(pool, CONTRACTS)
        if killing:
            kill_one_of_each(live, load)
        for each in work:
            each.result()
    load.until_at_rest()
    seconds = time.monotonic() - begin
    until_published(live)
    name = f"{live.backend.name}, {'one of each killed' if killing else 'left alone'}"
    say(capsys, f"{table([(name, load.found())], 'two replicas')}  in {seconds:.0f} s")
    assert len(load.accepted) == CONTRACTS
    return load


def kill_one_of_each(live: Live, load: Load) -> None:
    """Kill the first process of one service under load, then the second of the next."""
    for location, service in enumerate(MODULES):
        load.until_accepted(CONTRACTS * (location + 1) // (len(MODULES) + 2))
        kill(live, service, replica=location % live.replicas + 1)


def check_keys(live: Live) -> None:
    """Check that an idempotency key has one effect, whichever replicas its requests reach."""
    parties = parties_of(live)
    check_awards(parties)
    check_outputs(live, parties)
