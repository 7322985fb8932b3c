"""Services killed between a commit and its consequence: no event is lost and nothing is repeated."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.e2e.accounts import check_books
from tests.e2e.counts import until_published
from tests.e2e.dying.bus import publishing
from tests.e2e.dying.deaths import Deaths, Moment
from tests.e2e.dying.sealing import Sealing
from tests.e2e.dying.suite import DyingSuite
from tests.e2e.jobs import GOOD, contract, deliver, eventually, until_settled, until_work
from tests.e2e.live import Live
from tests.e2e.load import Load, say, table
from tests.e2e.parties import Parties, PatientCaller, parties_of
from tests.e2e.stores import transactions_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]
TOPICS = {
    "work-publisher": "contract.awarded",
    "verification": "outcome.verified",
    "settlement": "settlement.completed",
}
"""Over the first of which each of them dies."""
CONTRACTS = 10
"""Contracts of a run, eight of them settled.

Where a death leaves the next commit undone, the next process dies at that commit."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A suite whose services die as ordered."""

    live: Live
    ordered: Deaths

    def until_died(self, step: str, moments: Iterable[Moment] = tuple(Moment)) -> None:
        """Wait until a service has killed itself over this step, once for each of the moments."""
        eventually(lambda: all(self.ordered.happened(step, each) for each in moments) or None, what=f"deaths at {step}")

    def deaths(self) -> dict[str, int]:
        """Return how often each process has died."""
        reported = [line for line in self.live.running.err if "died (SIGKILL)" in line]
        return {service: sum(f"{service} died" in line for line in reported) for service in TOPICS}

    def insist_on_deaths(self, expected: Mapping[str, int]) -> None:
        """Wait for exactly this many deaths; `aex up` reports a death some moments after it."""
        total = sum(expected.values())
        eventually(lambda: sum(self.deaths().values()) >= total or None, what=f"word of {total} deaths")
        assert self.deaths() == expected


@pytest.fixture
def stage(dying: DyingSuite) -> Stage:
    return Stage(dying.live, dying.deaths)


def until_listed(parties: Parties, contract_id: str) -> None:
    """Wait until verification has received the event of a contract without a request for it."""

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


def test_journal_is_complete_after_kills_at_each_commit_of_the_sealer(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    live, before = stage.live, stage.deaths()
    for step in Sealing:
        stage.ordered.order(step, Moment.AFTER)  # committed, and not yet published
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
