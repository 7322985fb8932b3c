"""Operators who decide one hold at once leave one decision, with who and why, and one settlement."""

from collections import Counter

import pytest

from aex_models.audiences import Audience
from tests.e2e.holds import decide, waiting_hold
from tests.e2e.jobs import amounts, contract, deliver, plain_work, until_settled, until_status
from tests.e2e.live import Live
from tests.e2e.parties import Caller, caller, fresh, parties_of
from tests.e2e.racing import Action, at_once
from tests.e2e.stores import transactions_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ROUNDS = 3
OPERATORS = 4
ENDS = {"release": ("passed", "0.65"), "reject": ("failed", "0.00")}


def deciding(who: Caller, hold_id: str, wish: str) -> Action:
    return lambda: decide(who, hold_id, wish, f"{who.id} wants to {wish}")


def test_concurrent_hold_decisions_settle_once(live: Live) -> None:
    org = fresh("org")
    parties = parties_of(live, org, org)
    accepted: Counter[str] = Counter()
    for round_ in range(ROUNDS):
        contract_id = contract(parties, evaluation={}, **plain_work())
        deliver(parties, contract_id, f"Four words, round {round_}", wait_s=0)
        hold_id = waiting_hold(parties.operator, contract_id)["hold_id"]
        operators = [caller(live, Audience.OPERATOR, fresh("olga")) for _ in range(OPERATORS)]
        options = ["release", "reject"] * (OPERATORS // 2)
        answers = at_once([deciding(who, hold_id, wish) for who, wish in zip(operators, options, strict=True)])
        assert Counter(each.status_code for each in answers) == {200: 1, 409: OPERATORS - 1}
        [winner] = [location for location, each in enumerate(answers) if each.is_success]
        assert {each.json()["code"] for each in answers if not each.is_success} == {"already_decided"}
        who, wish = operators[winner], options[winner]
        on_record = parties.operator.read("governance", f"/v1/holds/{hold_id}")
        assert (on_record["status"], on_record["decision"]) == ("decided", wish)
        assert (on_record["decided_by"], on_record["reason"]) == (who.id, f"{who.id} wants to {wish}")
        status, total = ENDS[wish]
        until_status(parties.consumer, contract_id, status)
        assert amounts(until_settled(parties.finance, contract_id)["cost"])[3] == total
        assert len(transactions_of(live, contract_id)) == 1
        outcome = parties.operator.read("verification", f"/v1/outcomes/{contract_id}")
        assert outcome["verification_result"]["governance"]["decided_by"] == "operator"
        accepted[wish] += 1
    assert accepted.total() == ROUNDS
