"""Firestore and Pub/Sub go away under load and come back: readiness tells, and everything accepted is settled once."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psutil
import pytest

from aex_cli.suite.service_spec import MODULES
from tests.e2e.accounts import check_attempts, check_books
from tests.e2e.backend import on_emulators
from tests.e2e.counts import until_published
from tests.e2e.live import Live, live_suite
from tests.e2e.load import Load, say, table
from tests.e2e.readiness_watch import watched_readiness
from tests.emulators.emulator import Emulator
from tests.emulators.emulators import Emulators, started
from tests.emulators.jars import Jars

pytestmark = [pytest.mark.e2e, pytest.mark.emulator, pytest.mark.slow, pytest.mark.timeout(300)]
OUTAGE_S = 12.0
"""Longer than any call to a store or a bus may take."""
RED_S = 5.0
"""Within which readiness has to tell."""
GREEN_S = 30.0
CONTRACTS = 40
CLIENTS = 8
Choice = Callable[[Emulators], Sequence[Emulator]]
OUTAGES: Mapping[str, Choice] = {
    "firestore": lambda pair: [pair.firestore],
    "pubsub": lambda pair: [pair.pubsub],
    "both": lambda pair: [pair.firestore, pair.pubsub],
}


@pytest.fixture(scope="module")
def pair(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulators]:
    """Emulators of this module's own: others should not suffer."""
    with started(jars, tmp_path_factory.mktemp("emulators")) as emulators:
        yield emulators


@pytest.fixture(scope="module")
def live(pair: Emulators, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live_suite(tmp_path_factory.mktemp("outage") / ".aex", on_emulators(pair)) as suite:
        yield suite


@pytest.fixture
def services(live: Live) -> Iterator[list[psutil.Process]]:
    """The services' processes: they are the same at the end, and nothing broke in them."""
    before = [live.process(service) for service in MODULES]
    yield before
    assert [live.process(service) for service in MODULES] == before
    assert not [line for line in live.running.err if "died" in line]
    assert live.breakdowns() == []


@contextmanager
def under_load(live: Live, told: pytest.CaptureFixture[str], name: str) -> Iterator[Load]:
    """A load for as long as the block takes, and longer; then everything that it was accepted is there, once."""
    load, begin = Load(live), time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as pool:
        work = load.start(pool, CONTRACTS)
        load.until_accepted(CLIENTS)
        yield load
        for each in work:
            each.result()
    load.until_at_rest()
    until_published(live)
    seconds = time.monotonic() - begin
    say(told, f"{table([(name, load.found())], 'outage of')}  in {seconds:.0f} s")
    assert len(load.accepted) == CONTRACTS
    check_books(load)
    check_attempts(load)


@pytest.mark.parametrize("name", OUTAGES)
@pytest.mark.usefixtures("services")
def test_readiness_tells_of_an_outage_and_work_resumes_by_itself(
    live: Live, pair: Emulators, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = OUTAGES[name](pair)
    with under_load(live, capsys, name), watched_readiness(live) as readiness:
        paused_at = time.monotonic()
        for emulator in chosen:
            emulator.pause()
        try:
            red = readiness.until_red(paused_at, within_s=OUTAGE_S)
            time.sleep(max(0.0, paused_at + OUTAGE_S - time.monotonic()))
        finally:
            resumed_at = time.monotonic()
            for emulator in chosen:
                emulator.resume()
        green = readiness.until_green(resumed_at, within_s=GREEN_S)
        say(capsys, f"{name}: red after {max(red.values()):.1f} s, green after {max(green.values()):.1f} s")
        assert max(red.values()) <= RED_S, red


@pytest.mark.usefixtures("services")
def test_events_outlive_a_bus_that_lost_everything(
    live: Live, pair: Emulators, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the emulator held is lost with it; so it holds nothing when it is killed: all is settled or in outboxes."""
    with watched_readiness(live) as readiness:
        killed_at = time.monotonic()
        pair.pubsub.kill()
        readiness.until_red(killed_at, within_s=RED_S)
        with under_load(live, capsys, "a killed bus"):
            pair.pubsub.start()
            readiness.until_green(time.monotonic(), within_s=GREEN_S)


@contextmanager
def standing_still(services: Sequence[psutil.Process]) -> Iterator[None]:
    """The services do nothing in the block: what they wrote between export and import would be lost by the emulator."""
    for process in services:
        process.suspend()
    time.sleep(0.3)  # what they had under way is answered
    try:
        yield
    finally:
        for process in services:
            process.resume()


def test_records_outlive_a_store_that_is_started_anew_with_what_it_held(
    live: Live, pair: Emulators, services: list[psutil.Process], capsys: pytest.CaptureFixture[str]
) -> None:
    assert live.backend.project is not None
    with under_load(live, capsys, "a restarted store"), watched_readiness(live) as readiness:
        with standing_still(services):
            pair.firestore.restart_with([live.backend.project])
        readiness.until_green(time.monotonic(), within_s=GREEN_S)
