"""A metric that never returns: its worker is killed, and other works continue."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.e2e.holds import decided, waiting_hold
from tests.e2e.jobs import amounts, award, deliver, eventually, until_settled, until_status
from tests.e2e.killing import burning
from tests.e2e.live import Live, live_suite
from tests.e2e.parties import Parties, parties_of
from tests.e2e.readiness_watch import polling
from tests.e2e.stuck_extractor import METRIC, TRAP

pytestmark = pytest.mark.e2e
WORKERS = 3
"""Two and a spare one, started once the service is ready."""
TIMEOUT_S = 5
"""Above any verification but the endless one, and any pause of an event loop that is not blocked."""
CONFIG = """
extractors:
  vowels:
    class: tests.e2e.stuck_extractor:VowelExtractor
"""
CRITERION = {"metric": METRIC, "metric_type": "count", "comparison": "gte", "threshold": 3, "bonus": "0.25"}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("stuck")
    config = folder / "outcome-verification.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    # Without custom code, whose worker starts later than the others: the test counts workers.
    environment = {"AEX_VERIFY_TIMEOUT_S": str(TIMEOUT_S), "AEX_MAX_SYSTEM_RETRIES": "1", "AEX_SANDBOX_WORKERS": "0"}
    with live_suite(folder / ".aex", environment=environment, config=config) as started:
        yield started
        assert started.breakdowns() == []


def vowel_contract(parties: Parties) -> str:
    work = {"title": "Sing", "success_criteria": {"criteria": [CRITERION]}, "budget": {"max_cpc": "1"}}
    published = parties.consumer.post("work-publisher", "/v1/work", work)
    assert published.status_code == 201, published.text
    return award(parties, published.json()["work_id"])


def workers(live: Live) -> set[int]:
    return {child.pid for child in live.process("verification").children()}


def lost_jobs(live: Live) -> list[dict[str, Any]]:
    return [line for line in live.log("verification") if line["event"] == "confined_job_crashed"]


def test_a_metric_that_never_returns_is_killed_retried_and_held_while_others_go_on(live: Live) -> None:
    parties = parties_of(live)
    before = eventually(lambda: found if len(found := workers(live)) == WORKERS else None, what="the workers")
    statuses: list[int] = []

    def ask(client: httpx.Client) -> None:
        statuses.append(client.get(live.url("verification", "/healthz"), timeout=TIMEOUT_S).status_code)

    with polling(0.02, ask):
        stuck = vowel_contract(parties)
        attempt_id = deliver(parties, stuck, f"{TRAP} ends", wait_s=0)["attempt_id"]
        eventually(lambda: burning(live) or None, what="a worker that burns")
        for _ in range(2):
            other = vowel_contract(parties)
            assert deliver(parties, other, "la li lo lu")["verdict"] == "passed"
            assert amounts(until_settled(parties.finance, other)["cost"]) == ("0.40", "0.25", "0.00", "0.65")
        until_status(parties.agent, stuck, "held")
    assert statuses == [200] * len(statuses) != []
    _check_blame(live, parties, stuck, attempt_id)
    eventually(lambda: True if len(workers(live)) == len(before) else None, what="new workers")
    assert before - workers(live), "no worker was replaced"


def test_a_killed_suite_takes_the_worker_that_burns_with_it(live: Live) -> None:
    parties = parties_of(live)
    deliver(parties, vowel_contract(parties), f"{TRAP} ends", wait_s=0)
    eventually(lambda: True if burning(live) else None, what="a worker that burns")
    live.running.family += live.running.descendants()
    live.running.process.kill()
    live.running.wait()
    assert live.running.has_ended()


def _check_blame(live: Live, parties: Parties, stuck: str, attempt_id: str) -> None:
    assert [line["kind"] for line in lost_jobs(live)] == ["JobTimeout"] * 2  # once, and one retry
    visible = parties.operator.read("verification", f"/v1/contracts/{stuck}/attempts/{attempt_id}")
    assert (visible["status"], visible["counted"], visible["system_retries"]) == ("held", False, 2)
    assert parties.agent.read("verification", f"/v1/contracts/{stuck}")["attempts_used"] == 0
    hold = waiting_hold(parties.operator, stuck)
    assert hold["cause"] == "system_retries_exhausted"
    decided(parties.operator, hold, "release")
    until_status(parties.consumer, stuck, "passed")
    assert amounts(until_settled(parties.finance, stuck)["cost"]) == ("0.40", "0.00", "0.00", "0.40")
