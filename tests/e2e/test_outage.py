"""Outages of store and bus under load: readiness reports them, and every contract is settled once."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.client import OK, SERVICE_UNAVAILABLE

import psutil
import pytest

from aex_cli.suite.service_spec import MODULES
from tests.e2e.accounts import check_attempts, check_books
from tests.e2e.backend import BACKENDS, EMBEDDED, EMULATED, on_emulators
from tests.e2e.counts import until_published
from tests.e2e.live import Live, live_suite
from tests.e2e.load import Load, say, table
from tests.e2e.outages import OUTAGES, Outage
from tests.e2e.readiness_watch import watched_readiness
from tests.emulators.emulators import OwnEmulators

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]
CONTRACTS = 12
CLIENTS = 8
EMULATED_ALONE = pytest.mark.parametrize("live", [pytest.param(EMULATED, marks=pytest.mark.emulator)], indirect=True)
"""For what is in the emulators' memory."""


@pytest.fixture(scope="module", params=BACKENDS)
def live(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    backend = EMBEDDED if request.param == EMBEDDED.name else on_emulators(request.getfixturevalue("own_emulators"))
    with live_suite(tmp_path_factory.mktemp("outage") / ".aex", backend) as suite:
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
def under_load(live: Live) -> Iterator[Load]:
    """A load for as long as the block takes, and longer."""
    load, work = Load(live), list[Future[None]]()
    with ThreadPoolExecutor(CLIENTS) as pool:
        work += load.start(pool, CONTRACTS)
        load.until_accepted(CLIENTS)
        yield load
        for each in work:
            each.result()


def check(live: Live, reported: pytest.CaptureFixture[str], loads: dict[str, Load]) -> None:
    """Check that everything accepted exists once."""
    begin = time.monotonic()
    for load in loads.values():
        load.until_at_rest()
    until_published(live)
    seconds = time.monotonic() - begin
    rows = [(f"{name}, {live.backend.name}", load.found()) for name, load in loads.items()]
    say(reported, f"{table(rows, 'outage')}\nat rest {seconds:.0f} s after the last")
    assert [len(load.accepted) for load in loads.values()] == [CONTRACTS] * len(loads)
    check_books(*loads.values())
    for load in loads.values():
        check_attempts(load)


@pytest.mark.usefixtures("services")
def test_readiness_reports_an_outage_and_work_resumes(live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    loads: dict[str, Load] = {}
    for name, outage in OUTAGES[live.backend.name].items():
        with under_load(live) as loads[name]:
            red, green = go_through(live, outage)
            say(capsys, f"{name}: red after {max(red.values()):.1f} s, green after {max(green.values()):.1f} s")
    check(live, capsys, loads)


def go_through(live: Live, outage: Outage) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return the seconds until each service turned red and then green."""
    with watched_readiness(live) as readiness:
        readiness.until(OK, time.monotonic())
        with outage.begin(live):
            away_at = time.monotonic()
            red = readiness.until(SERVICE_UNAVAILABLE, away_at)
            time.sleep(max(0.0, away_at + outage.lasts_s - time.monotonic()))
        return red, readiness.until(OK, time.monotonic())


@EMULATED_ALONE
@pytest.mark.usefixtures("services")
def test_events_outlive_a_bus_that_lost_everything(
    live: Live, own_emulators: OwnEmulators, capsys: pytest.CaptureFixture[str]
) -> None:
    """The emulator loses its content when killed, so everything is settled or in an outbox before."""
    with watched_readiness(live) as readiness:
        killed_at = time.monotonic()
        own_emulators.pubsub.kill()
        readiness.until(SERVICE_UNAVAILABLE, killed_at)
        with under_load(live) as load:
            own_emulators.pubsub.start()
            readiness.until(OK, time.monotonic())
    check(live, capsys, {"a killed bus": load})


@contextmanager
def stopped_services(services: Sequence[psutil.Process]) -> Iterator[None]:
    """Stop the services in the block: the emulator would lose what they write between export and import."""
    for process in services:
        process.suspend()
    time.sleep(0.3)  # what they had under way is answered
    try:
        yield
    finally:
        for process in services:
            process.resume()


@EMULATED_ALONE
def test_records_survive_a_restart_of_the_store(
    live: Live, own_emulators: OwnEmulators, services: list[psutil.Process], capsys: pytest.CaptureFixture[str]
) -> None:
    assert live.backend.project is not None
    with under_load(live) as load, watched_readiness(live) as readiness:
        with stopped_services(services):
            own_emulators.firestore.restart_keeping([live.backend.project])
        readiness.until(OK, time.monotonic())
    check(live, capsys, {"a restarted store": load})
