"""A service that is killed between a commit and its publication loses no event, and nothing is done twice."""

from pathlib import Path

import pytest

from tests.e2e.backend import Backend
from tests.e2e.counts import until_published
from tests.e2e.dying import settlement, verification, work_publisher
from tests.e2e.dying.bus import publishing
from tests.e2e.dying.deaths import Deaths, Moment
from tests.e2e.jobs import GOOD, contract, deliver, eventually, until_settled, until_work
from tests.e2e.live import Live, live_suite
from tests.e2e.parties import Parties, PatientCaller, parties_of
from tests.e2e.stores import transactions_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]
VICTIMS = {module.main.SERVICE: module.__name__ for module in (work_publisher, verification, settlement)}
TOPICS = {
    "work-publisher": "contract.awarded",
    "verification": "outcome.verified",
    "settlement": "settlement.completed",
}
"""Over the first of which each of them dies."""


def until_listed(parties: Parties, contract_id: str) -> None:
    """Wait until verification knows of a contract that nobody has asked it for: its event has come."""

    def look() -> bool | None:
        listed = parties.consumer.read("verification", "/v1/contracts")["items"]
        return True if contract_id in [each["contract_id"] for each in listed] else None

    eventually(look, what=f"the award of {contract_id}")


def until_died(ordered: Deaths, service: str) -> None:
    """Wait until the service has killed itself twice: before it published its event, and once it had."""
    step = publishing(TOPICS[service])
    eventually(lambda: all(ordered.happened(step, each) for each in Moment) or None, what=f"the deaths of {service}")


def deaths(live: Live) -> dict[str, int]:
    told = [line for line in live.running.err if "died (SIGKILL)" in line]
    return {service: sum(f"{service} died" in line for line in told) for service in VICTIMS}


def test_services_that_are_killed_before_and_after_a_publication_lose_nothing_and_repeat_nothing(
    tmp_path: Path, backend: Backend
) -> None:
    ordered = Deaths(tmp_path / "deaths")
    for topic in TOPICS.values():
        for moment in Moment:
            ordered.order(publishing(topic), moment)
    environment = Deaths.ordered_in(tmp_path / "deaths")
    with live_suite(tmp_path / ".aex", backend, environment=environment, replaced=VICTIMS) as live:
        parties = parties_of(live, kind=PatientCaller)
        untouched = contract(parties)
        until_died(ordered, "work-publisher")  # over its `contract.awarded`
        delivered = contract(parties)
        deliver(parties, delivered, GOOD)
        until_died(ordered, "verification")  # over its `outcome.verified`
        until_died(ordered, "settlement")  # over its `settlement.completed`
        settled = until_settled(parties.finance, delivered)
        assert settled["cost"]["total"] == "0.85"
        until_listed(parties, untouched)
        deliver(parties, untouched, GOOD)
        until_settled(parties.finance, untouched)
        until_published(live)
        assert deaths(live) == dict.fromkeys(VICTIMS, len(Moment))
        for contract_id in (delivered, untouched):
            assert len(transactions_of(live, contract_id)) == 1
        until_work(parties.consumer, settled["work_id"], "completed")
        assert live.breakdowns() == []
