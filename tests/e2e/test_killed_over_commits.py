"""Services killed between a commit and what follows it: no event is lost, the journal is whole, nothing is repeated."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.e2e.accounts import check_books
from tests.e2e.backend import BACKENDS, requested
from tests.e2e.counts import until_published
from tests.e2e.dying import settlement, verification, work_publisher
from tests.e2e.dying.bus import publishing
from tests.e2e.dying.deaths import Deaths, Moment
from tests.e2e.dying.sealing import Sealing
from tests.e2e.jobs import GOOD, contract, deliver, eventually, until_settled, until_work
from tests.e2e.live import Live, live_suite
from tests.e2e.load import Load, say, table
from tests.e2e.parties import Parties, PatientCaller, parties_of
from tests.e2e.stores import transactions_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(240)]
VICTIMS = {module.main.SERVICE: module.__name__ for module in (work_publisher, verification, settlement)}
TOPICS = {
    "work-publisher": "contract.awarded",
    "verification": "outcome.verified",
    "settlement": "settlement.completed",
}
"""Over the first of which each of them dies."""
CONTRACTS = 10
"""Of which eight are settled; where a death leaves the next commit undone, the next process dies over that."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A suite whose services die as they are told."""

    live: Live
    ordered: Deaths

    def until_died(self, step: str, moments: Iterable[Moment] = tuple(Moment)) -> None:
        """Wait until a service has killed itself over this step, once for each of the moments."""
        eventually(lambda: all(self.ordered.happened(step, each) for each in moments) or None, what=f"deaths at {step}")

    def deaths(self) -> dict[str, int]:
        """How often each has died so far."""
        told = [line for line in self.live.running.err if "died (SIGKILL)" in line]
        return {service: sum(f"{service} died" in line for line in told) for service in VICTIMS}

    def insist_on_deaths(self, expected: Mapping[str, int]) -> None:
        """So many have died by now, and no more. `aex up` tells of a death some moments after it."""
        total = sum(expected.values())
        eventually(lambda: sum(self.deaths().values()) >= total or None, what=f"word of {total} deaths")
        assert self.deaths() == expected


@pytest.fixture(scope="module", params=BACKENDS)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("commits")
    environment = Deaths.ordered_in(folder / "deaths")
    with live_suite(folder / ".aex", requested(request), environment=environment, replaced=VICTIMS) as live:
        yield Stage(live, Deaths(folder / "deaths"))
        assert live.breakdowns() == []


def until_listed(parties: Parties, contract_id: str) -> None:
    """Wait until verification knows of a contract that nobody has asked it for: its event has come."""

    def look() -> bool | None:
        listed = parties.consumer.read("verification", "/v1/contracts")["items"]
        return True if contract_id in [each["contract_id"] for each in listed] else None

    eventually(look, what=f"the award of {contract_id}")


def test_services_that_are_killed_before_and_after_a_publication_lose_nothing_and_repeat_nothing(stage: Stage) -> None:
    live, before = stage.live, stage.deaths()
    for topic in TOPICS.values():
        for moment in Moment:
            stage.ordered.order(publishing(topic), moment)
    parties = parties_of(live, kind=PatientCaller)
    untouched = contract(parties)
    stage.until_died(publishing(TOPICS["work-publisher"]))
    delivered = contract(parties)
    deliver(parties, delivered, GOOD)
    stage.until_died(publishing(TOPICS["verification"]))
    stage.until_died(publishing(TOPICS["settlement"]))
    settled = until_settled(parties.finance, delivered)
    assert settled["cost"]["total"] == "0.85"
    until_listed(parties, untouched)
    deliver(parties, untouched, GOOD)
    until_settled(parties.finance, untouched)
    until_published(live)
    stage.insist_on_deaths({service: count + len(Moment) for service, count in before.items()})
    for contract_id in (delivered, untouched):
        assert len(transactions_of(live, contract_id)) == 1
    until_work(parties.consumer, settled["work_id"], "completed")


def test_the_journal_is_whole_and_counts_all_once_though_settlement_was_killed_after_each_commit_of_its_sealer(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    live, before = stage.live, stage.deaths()
    for step in Sealing:
        stage.ordered.order(step, Moment.AFTER)  # of what is committed by then, nobody has heard
    load = Load(live)
    with ThreadPoolExecutor(CONTRACTS) as pool:
        for each in load.start(pool, CONTRACTS):
            each.result()
    load.until_at_rest()
    for step in Sealing:
        stage.until_died(step, (Moment.AFTER,))
    until_published(live)
    stage.insist_on_deaths({**before, "settlement": before["settlement"] + len(Sealing)})
    say(capsys, table([(f"settlement, while sealing, {live.backend.name}", load.found())]))
    check_books(load)
