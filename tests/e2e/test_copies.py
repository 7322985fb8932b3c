"""Two agents with the same text do not both pass; a repeated request gets the same answer."""

from typing import Any
from uuid import uuid4

import pytest

from aex_models.audiences import Audience
from tests.e2e.holds import waiting_hold
from tests.e2e.jobs import candidate, contract, deliver, plain_work, until_status
from tests.e2e.live import Live
from tests.e2e.parties import Caller, Parties, caller, fresh, parties_of
from tests.e2e.prose import prose, reworded
from tests.e2e.racing import Action, at_once

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ROUNDS = 5
ENDS = ("passed", "held")


def two(live: Live) -> list[tuple[Parties, str]]:
    """Two agents with a contract each, over works of two consumers."""
    both = [parties_of(live) for _ in range(2)]
    return [(parties, contract(parties, evaluation={}, **plain_work())) for parties in both]


def posting(parties: Parties, contract_id: str, text: str) -> Action:
    path = f"/v1/contracts/{contract_id}/outputs"
    return lambda: parties.agent.post("verification", path, candidate(text))


def asking(service: Caller, body: dict[str, Any]) -> Action:
    return lambda: service.post("governance", "/v1/outcomes/validate", body)


def rules_of(parties: Parties, contract_id: str) -> set[str]:
    return {flag["rule"] for flag in waiting_hold(parties.operator, contract_id)["flags"]}


@pytest.mark.parametrize("likeness", ["equal", "nearly"])
def test_of_one_text_that_two_agents_post_at_the_same_moment_at_least_one_is_held(live: Live, likeness: str) -> None:
    for _ in range(ROUNDS):
        key = fresh("text")
        first = prose(key, 12)
        texts = [first, first if likeness == "equal" else reworded(first, key, 0.04)]
        both = two(live)
        posts = [posting(*each, text) for each, text in zip(both, texts, strict=True)]
        assert all(answer.is_success for answer in at_once(posts))
        ends = [until_status(parties.agent, contract_id, *ENDS)["status"] for parties, contract_id in both]
        assert "held" in ends
        for (parties, contract_id), end in zip(both, ends, strict=True):
            if end == "held":
                assert rules_of(parties, contract_id) & {"duplicate_output", "near_duplicate_output"}


def test_a_copy_is_held_whenever_it_comes_and_the_original_is_not(live: Live) -> None:
    (author, original), (copyist, copied) = two(live)
    text = prose(fresh("text"), 12)
    deliver(author, original, text)
    until_status(author.agent, original, "passed")
    deliver(copyist, copied, text, wait_s=0)
    until_status(copyist.agent, copied, "held")
    flag = next(each for each in waiting_hold(copyist.operator, copied)["flags"] if each["rule"] == "duplicate_output")
    assert original in str(flag["evidence"])
    assert author.agent.id in str(flag["evidence"])
    for reader in (copyist.agent, copyist.consumer):
        seen = reader.read("verification", f"/v1/contracts/{copied}/attempts")
        assert author.agent.id not in str(seen)
        assert original not in str(seen)


@pytest.mark.parametrize("output", [{"text": "Paris"}, {"predictions": ["yes", "no"] * 100}, "42"])
def test_equal_labels_and_short_answers_of_two_agents_are_no_copies(live: Live, output: Any) -> None:
    for _ in range(3):
        parties = parties_of(live)
        contract_id = contract(parties, success_criteria=None, evaluation={})
        answer = parties.agent.post("verification", f"/v1/contracts/{contract_id}/outputs", {"output": output})
        assert answer.is_success, answer.text
        until_status(parties.agent, contract_id, "passed")


def validation(**changes: Any) -> dict[str, Any]:
    """A question as verification asks it."""
    return {
        "attempt_id": f"att_{uuid4().hex}",
        "contract_id": f"ctr_{uuid4().hex}",
        "work_id": f"work_{uuid4().hex}",
        "domain": "news",
        "agent": {"id": fresh("bot"), "org": None},
        "consumer": {"id": fresh("acme"), "org": None},
        "extracted_metrics": {"word_count": 4},
        "output_text": "One two three four",
        "output_hash": uuid4().hex * 2,
        "received_at": "2026-01-01T00:00:00Z",
        **changes,
    }


def test_a_repeated_question_gets_the_stored_answer_whatever_else_it_says(live: Live) -> None:
    service = caller(live, Audience.SERVICE, "verification")

    def ask(body: dict[str, Any]) -> dict[str, Any]:
        answer = service.post("governance", "/v1/outcomes/validate", body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    requested = validation(claimed_metrics={"word_count": 5})
    first = ask(requested)
    assert (first["action"], first["valid"]) == ("hold", False)
    assert all(ask(requested) == first for _ in range(3))
    assert ask({**requested, "claimed_metrics": {}, "agent": requested["consumer"]}) == first
    answers = at_once([asking(service, requested)] * 8)
    assert [answer.json() for answer in answers] == [first] * 8
    honest = validation()
    assert ask(honest)["action"] == "allow"
    assert ask({**honest, "claimed_metrics": {"word_count": 400}})["action"] == "allow"


def test_many_at_once_that_ask_of_one_new_attempt_get_one_answer(live: Live) -> None:
    service = caller(live, Audience.SERVICE, "verification")
    attempt_id = f"att_{uuid4().hex}"
    bodies = [validation(attempt_id=attempt_id, claimed_metrics={"word_count": claim}) for claim in range(4, 12)]
    answers = at_once([asking(service, body) for body in bodies])
    assert {answer.status_code for answer in answers} == {200}
    assert all(answer.json() == answers[0].json() for answer in answers)


def test_only_services_may_request_a_validation(parties: Parties) -> None:
    for asker in (parties.agent, parties.consumer, parties.operator, parties.finance):
        assert asker.post("governance", "/v1/outcomes/validate", validation()).status_code == 403
