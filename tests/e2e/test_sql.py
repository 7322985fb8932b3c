"""Queries end to end: the expected one is tried, agents' ones are graded once, whatever is killed."""

import json
from typing import Any
from uuid import uuid4

import psutil
import pytest

from aex_cli.suite.service_spec import MODULES
from tests.e2e.backend import Backend
from tests.e2e.conftest import StartSuite
from tests.e2e.jobs import amounts, award, deliver, eventually, publish, until_settled, until_work
from tests.e2e.killing import kill
from tests.e2e.live import Live
from tests.e2e.parties import Parties, parties_of

pytestmark = pytest.mark.e2e

SALES = {
    "columns": {"region": "VARCHAR", "amount": "DECIMAL(10,2)", "sold": "DATE"},
    "rows": [["north", 10.5, "2024-01-31"], ["south", 4.25, "2024-02-01"], ["north", 1, None]],
}
EXPECTED = "SELECT region, sum(amount) AS total FROM sales GROUP BY region"
RIGHT = "SELECT region, sum(amount) FROM sales GROUP BY ALL ORDER BY 2"
WRONG = "SELECT region, max(amount) FROM sales GROUP BY ALL"
SLOW = "SELECT region, sum(amount) FROM sales, (SELECT max(range) FROM range(10000000000)) GROUP BY region"


def submission(query: str = EXPECTED, **task: Any) -> dict[str, Any]:
    criterion = {"metric": "sql_result_match", "metric_type": "boolean", "comparison": "eq", "threshold": True}
    return {
        "evaluation": {"sql": {"tables": {"sales": SALES}, "expected": {"query": query}, **task}},
        "success_criteria": {"criteria": [{**criterion, "bonus": "0.20", "penalty": "0.05"}]},
    }


def open_contract(parties: Parties, **task: Any) -> str:
    """A contract over a work whose expected query was tried."""
    published = publish(parties, **submission(**task))
    assert published["status"] == "checking"
    return award(parties, until_work(parties.consumer, published["work_id"], "open")["work_id"])


def deliver_query(parties: Parties, contract_id: str, query: str) -> dict[str, Any]:
    """The attempt without a verdict, as the agent is answered at once."""
    return deliver(parties, contract_id, "", 0, output={"sql": query})


def judge_query(parties: Parties, contract_id: str, query: str) -> dict[str, Any]:
    """The attempt with its verdict."""
    path = f"/v1/contracts/{contract_id}/attempts/{deliver_query(parties, contract_id, query)['attempt_id']}"

    def look() -> dict[str, Any] | None:
        found = dict(parties.agent.read("verification", path))
        return found if found["verdict"] else None

    return eventually(look, what="a verdict")


def test_an_agent_revises_its_query_until_the_result_is_right(parties: Parties) -> None:
    contract_id = open_contract(parties)
    wrong = judge_query(parties, contract_id, WRONG)
    assert (wrong["verdict"], wrong["counted"]) == ("rejected", True)
    hostile = judge_query(parties, contract_id, "SELECT * FROM read_csv('/etc/passwd')")
    assert hostile["verdict"] == "rejected"
    assert judge_query(parties, contract_id, RIGHT)["verdict"] == "passed"
    assert amounts(until_settled(parties.finance, contract_id)["cost"]) == ("0.40", "0.20", "0.00", "0.60")
    outcome = parties.consumer.read("verification", f"/v1/outcomes/{contract_id}")
    details = outcome["verification_result"]["details"]["sql_result_match"]
    assert (details["rows"], details["expected_rows"]) == (2, 2)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT nothing FROM sales", "sql_failed"),
        ("WITH a AS (SELECT 1) DELETE FROM sales", "not_one_select"),
        ("SELECT count(*) FROM range(1000000) a, range(1000000) b", "sql_failed"),
    ],
)
def test_an_expected_query_without_result_refuses_the_work(parties: Parties, query: str, code: str) -> None:
    published = publish(parties, **submission(query))
    work = until_work(parties.consumer, published["work_id"], "refused")
    assert [(each["path"], each["code"]) for each in work["problems"]] == [("/evaluation/sql/expected/query", code)]


def test_tables_and_expected_result_reach_no_agent_and_no_log(live: Live, parties: Parties) -> None:
    canary = f"canary{uuid4().hex}"
    table = {"columns": {f"c_{canary}": "VARCHAR"}, "rows": [[canary]]}
    query = f"SELECT '{canary}' AS x"
    contract_id = open_contract(parties, query=query, tables={f"t_{canary}": table, "sales": SALES})
    tables = "SELECT string_agg(table_name, ',')::INTEGER FROM information_schema.tables"
    attempts = [judge_query(parties, contract_id, each) for each in (tables, "SELECT nothing", "SELECT 5")]
    assert [each["verdict"] for each in attempts] == ["rejected"] * 3
    seen = [
        *attempts,
        parties.agent.read("verification", f"/v1/contracts/{contract_id}"),
        *(
            parties.agent.read("verification", f"/v1/contracts/{contract_id}/attempts/{each['attempt_id']}")
            for each in attempts
        ),
        *(live.log(service) for service in MODULES),
    ]
    for each in seen:
        assert canary not in json.dumps(each)


def find_query_workers(live: Live) -> list[psutil.Process]:
    """Workers of queries that run now: they have used processor time below a worker of the service."""
    workers = live.process("verification").children()
    below = [child for worker in workers for child in worker.children() if "monty" not in child.name()]
    return [each for each in below if each.is_running() and each.cpu_times().user > 1]


@pytest.mark.slow
def test_kills_during_a_query_count_nothing_and_each_contract_settles_once(
    start_suite: StartSuite, backend: Backend
) -> None:
    live = start_suite(backend)
    parties = parties_of(live)
    for victim in ("query", "worker", "service"):
        settle_after_kill(live, parties, victim)


def settle_after_kill(live: Live, parties: Parties, victim: str) -> None:
    contract_id = open_contract(parties)
    attempt = deliver_query(parties, contract_id, SLOW)
    [running, *_] = eventually(lambda: find_query_workers(live) or None, what="a running query", poll_s=0.02)
    if victim == "service":
        kill(live, "verification")
    else:
        (running if victim == "query" else psutil.Process(running.ppid())).kill()
    settled = until_settled(parties.finance, contract_id, within_s=180)
    assert amounts(settled["cost"]) == ("0.40", "0.20", "0.00", "0.60")
    path = f"/v1/contracts/{contract_id}"
    ended = parties.agent.read("verification", path)
    assert (ended["status"], ended["attempts_used"]) == ("passed", 1)
    assert parties.agent.read("verification", f"{path}/attempts/{attempt['attempt_id']}")["verdict"] == "passed"
