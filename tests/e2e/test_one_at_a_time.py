"""Concurrent parties: one candidate is verified at a time, and a contract ends once."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.jobs import POOR
from tests.e2e.live import Live
from tests.e2e.once import AT_ONCE
from tests.e2e.racing import Race, at_once, check_refusals, race_to_an_end

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ROUNDS = 15
RACES_AT_ONCE = 3


def test_of_fifty_concurrent_candidates_one_is_verified_at_a_time(replicated: Live) -> None:
    race = Race.on(replicated)
    answers = at_once([race.posting(f"{POOR} {location}") for location in range(AT_ONCE)])
    check_refusals(answers)
    assert any(each.is_success for each in answers)
    race.check_attempts(answers)
    race.check_end()


def test_one_candidate_posted_fifty_times_concurrently_is_one_attempt(replicated: Live) -> None:
    race = Race.on(replicated)
    answers = at_once([race.posting(POOR)] * AT_ONCE)
    assert {each.status_code for each in answers} <= {200, 202}
    assert Counter(each.json()["replay"] for each in answers) == {False: 1, True: AT_ONCE - 1}
    race.check_attempts(answers)
    assert race.check_end() == "awaiting_revision"


def test_concurrent_finalise_cancel_and_post_end_a_contract_once(replicated: Live) -> None:
    with ThreadPoolExecutor(RACES_AT_ONCE) as pool:
        assert len(list(pool.map(lambda seed: race_to_an_end(replicated, seed), range(ROUNDS)))) == ROUNDS
