"""Too many outcomes in a window are held."""

import pytest

from aex_governance.rules.case import RecentCounts
from aex_governance.rules.velocity import check
from aex_models.governance import Flag, Severity
from tests.services.governance.requests import case

THRESHOLDS = {"window_s": 3600, "max_agent_outcomes": 10, "max_pair_outcomes": 5}


def raised(agent: int, pair: int) -> Flag | None:
    return check(case(history={"recent": RecentCounts(agent, pair)}), THRESHOLDS)


@pytest.mark.parametrize(("agent", "pair"), [(0, 0), (9, 0), (4, 4)])
def test_counts_up_to_the_limit_are_allowed(agent: int, pair: int) -> None:
    assert raised(agent, pair) is None


@pytest.mark.parametrize(
    ("agent", "pair", "text"), [(10, 0, "More outcomes of the agent within"), (5, 5, "for this consumer")]
)
def test_count_above_the_limit_is_held(agent: int, pair: int, text: str) -> None:
    flag = raised(agent, pair)
    assert flag is not None
    assert flag.severity is Severity.MAJOR
    assert text in flag.message
    assert (flag.evidence["agent_outcomes"], flag.evidence["pair_outcomes"]) == (agent + 1, pair + 1)
