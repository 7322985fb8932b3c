"""Two agents with the same text do not both pass; a repeated request gets the same answer."""

import pytest

from tests.e2e.holds import waiting_hold
from tests.e2e.jobs import candidate, contract, deliver, plain_work, until_status
from tests.e2e.live import Live
from tests.e2e.parties import Parties, fresh, parties_of
from tests.e2e.prose import prose, reworded
from tests.e2e.racing import Action, at_once

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ROUNDS = 2
ENDS = ("passed", "held")


def two(live: Live) -> list[tuple[Parties, str]]:
    """Two agents with a contract each, over works of two consumers."""
    both = [parties_of(live) for _ in range(2)]
    return [(parties, contract(parties, evaluation={}, **plain_work())) for parties in both]


def posting(parties: Parties, contract_id: str, text: str) -> Action:
    path = f"/v1/contracts/{contract_id}/outputs"
    return lambda: parties.agent.post("verification", path, candidate(text))


def rules_of(parties: Parties, contract_id: str) -> set[str]:
    return {flag["rule"] for flag in waiting_hold(parties.operator, contract_id)["flags"]}


@pytest.mark.parametrize("likeness", ["equal", "nearly"])
def test_one_of_two_concurrent_copies_is_held(live: Live, likeness: str) -> None:
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
