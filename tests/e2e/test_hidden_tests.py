"""Hidden tests end to end: tried before an award, run on programs, paid once whatever is killed."""

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

CHECKS = """
import unittest
from solution import slug

class SlugTests(unittest.TestCase):
    def test_words_are_joined(self): self.assertEqual(slug("A b"), "a-b")
    def test_marks_are_dropped(self): self.assertEqual(slug("a!"), "a")
    def test_blanks_are_one(self): self.assertEqual(slug("a  b"), "a-b")
"""
RIGHT = "import re\ndef slug(text): return '-'.join(re.findall(r'[a-z0-9]+', text.lower()))"
WRONG = "def slug(text): return text.lower().replace(' ', '-')"
FOOLING = """
class Equal(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = str.__hash__
def slug(text): return Equal("x")
"""
SLOW = "import time\ntime.sleep(1)\n"


def submission(**tests: Any) -> dict[str, Any]:
    criterion = {"metric": "tests_pass_rate", "metric_type": "percentage", "comparison": "gte", "threshold": 1}
    complete = {"style": "unittest", "files": {"checks.py": CHECKS}, "reference": {"solution.py": RIGHT}, **tests}
    return {
        "evaluation": {"tests": complete},
        "success_criteria": {"criteria": [{**criterion, "bonus": "0.20", "penalty": "0.05"}]},
    }


def open_contract(parties: Parties, **tests: Any) -> str:
    """A contract over a work whose tests were tried."""
    published = publish(parties, **submission(**tests))
    assert published["status"] == "checking"
    return award(parties, until_work(parties.consumer, published["work_id"], "open")["work_id"])


def deliver_program(parties: Parties, contract_id: str, code: str, wait_s: float = 30) -> dict[str, Any]:
    return deliver(parties, contract_id, "", wait_s, output={"code": code})


def test_an_agent_revises_its_program_until_the_hidden_tests_pass(parties: Parties) -> None:
    contract_id = open_contract(parties)
    wrong = deliver_program(parties, contract_id, WRONG)
    assert (wrong["verdict"], wrong["counted"]) == ("rejected", True)
    assert "1 of 3 tests passed" in wrong["feedback"]
    assert "test_marks" not in json.dumps(wrong)
    assert "details" not in wrong["result"]
    fooling = deliver_program(parties, contract_id, FOOLING)
    assert (fooling["verdict"], "0 of 3 tests passed" in fooling["feedback"]) == ("rejected", True)
    assert deliver_program(parties, contract_id, RIGHT)["verdict"] == "passed"
    assert amounts(until_settled(parties.finance, contract_id)["cost"]) == ("0.40", "0.20", "0.00", "0.60")
    outcome = parties.consumer.read("verification", f"/v1/outcomes/{contract_id}")
    details = outcome["verification_result"]["details"]["tests_pass_rate"]
    assert [each["outcome"] for each in details] == ["passed"] * 3


def test_a_reference_that_fails_refuses_the_work_and_names_the_tests(parties: Parties) -> None:
    published = publish(parties, **submission(reference={"solution.py": WRONG}))
    work = until_work(parties.consumer, published["work_id"], "refused")
    assert {each["code"] for each in work["problems"]} == {"reference_fails_test"}
    assert {each["path"] for each in work["problems"]} == {"/evaluation/tests/files/checks.py"}
    named = " ".join(each["message"] for each in work["problems"])
    assert "SlugTests.test_marks_are_dropped" in named
    assert "SlugTests.test_words_are_joined" not in named


def test_tests_and_reference_reach_no_agent_and_no_log(live: Live, parties: Parties) -> None:
    canary = f"canary{uuid4().hex}"
    test = f"    def test_{canary}(self): self.assertNotEqual(slug('{canary}'), '')"
    files, reference = {"checks.py": f"# {canary}\n{CHECKS}\n{test}"}, {"solution.py": f"# {canary}\n{RIGHT}"}
    contract_id = open_contract(parties, files=files, reference=reference)
    attempt = deliver_program(parties, contract_id, RIGHT)
    seen = [
        attempt,
        parties.agent.read("verification", f"/v1/contracts/{contract_id}"),
        parties.agent.read("verification", f"/v1/contracts/{contract_id}/attempts/{attempt['attempt_id']}"),
        *(live.log(service) for service in MODULES),
    ]
    for each in seen:
        assert canary not in json.dumps(each)


def find_runners(live: Live) -> dict[str, list[psutil.Process]]:
    """Workers with a zygote, and their zygotes."""
    found: dict[str, list[psutil.Process]] = {"worker": [], "zygote": []}
    for worker in live.process("verification").children():
        for child in worker.children():
            if "testing.zygote" in " ".join(child.cmdline()):
                found["worker"].append(worker)
                found["zygote"].append(child)
    return found


@pytest.mark.slow
def test_kills_during_the_tests_count_nothing_and_each_contract_settles_once(
    start_suite: StartSuite, backend: Backend
) -> None:
    live = start_suite(backend)
    parties = parties_of(live)
    for victim in ("zygote", "worker", "service"):
        settle_after_kill(live, parties, victim)


def settle_after_kill(live: Live, parties: Parties, victim: str) -> None:
    contract_id = open_contract(parties)
    attempt = deliver_program(parties, contract_id, f"{SLOW}{RIGHT}", wait_s=0)

    def is_testing() -> bool | None:
        return any(zygote.children() for zygote in find_runners(live)["zygote"]) or None

    eventually(is_testing, what="a running test")
    if victim == "service":
        kill(live, "verification")
    else:
        for each in find_runners(live)[victim]:
            each.kill()
    settled = until_settled(parties.finance, contract_id, within_s=120)
    assert amounts(settled["cost"]) == ("0.40", "0.20", "0.00", "0.60")
    path = f"/v1/contracts/{contract_id}"
    ended = parties.agent.read("verification", path)
    assert (ended["status"], ended["attempts_used"]) == ("passed", 1)
    assert parties.agent.read("verification", f"{path}/attempts/{attempt['attempt_id']}")["verdict"] == "passed"
