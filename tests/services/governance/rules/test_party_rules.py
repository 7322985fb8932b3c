"""Parties that are one, violations of a domain, and too many outcomes in a window are held."""

from typing import Any

import pytest

from aex_governance.rules import domain_violation, self_dealing, velocity
from aex_governance.rules.case import RecentCounts
from aex_models.governance import Action, Flag, Severity
from tests.services.governance.requests import case


@pytest.mark.parametrize(
    ("agent", "consumer"),
    [
        ({"id": "Bot"}, {"id": "bOT"}),
        ({"id": "bot", "org": "x"}, {"id": "acme", "org": "x"}),
        ({"id": "acme-bot", "org": "Acme"}, {"id": "acme"}),
        ({"id": "bot"}, {"id": "buyer", "org": "BOT"}),
        ({"id": "bot", "org": "x"}, {"id": "x", "org": "y"}),
        ({"id": "bot", "org": "ACME-Labs"}, {"id": "buyer", "org": "acme-labs"}),
    ],
)
def test_one_principal_or_organisation_is_held(agent: dict[str, str], consumer: dict[str, str]) -> None:
    flag = self_dealing.RULE.check(case(agent=agent, consumer=consumer), {})
    assert flag is not None
    assert self_dealing.RULE.actions[flag.severity] is Action.HOLD
    assert flag.evidence["agent"] == {"org": None, **agent}
    assert flag.evidence["consumer"] == {"org": None, **consumer}


@pytest.mark.parametrize(
    ("agent", "consumer"),
    [
        ({"id": "bot"}, {"id": "acme"}),
        ({"id": "bot", "org": "x"}, {"id": "acme", "org": "y"}),
        ({"id": "bot", "org": "x"}, {"id": "acme"}),
        ({"id": "acme-labs", "org": "x"}, {"id": "acme", "org": "xx"}),
    ],
)
def test_different_parties_are_honest(agent: dict[str, str], consumer: dict[str, str]) -> None:
    assert self_dealing.RULE.check(case(agent=agent, consumer=consumer), {}) is None


@pytest.mark.parametrize(
    "violation", ["mean_fitness = 11.17 is above 2", "", {"name": "p_value", "value": -1, "min": 0, "max": 1}, {}]
)
def test_violation_of_any_form_is_held(violation: Any) -> None:
    flag = domain_violation.RULE.check(case(domain="bioinformatics/DMS", science={"violations": [violation]}), {})
    assert flag is not None
    assert domain_violation.RULE.actions[flag.severity] is Action.HOLD
    assert flag.evidence == {"violations": [violation], "count": 1}
    assert "bioinformatics/DMS" in flag.message


def test_violations_are_counted_and_bounded() -> None:
    flag = domain_violation.RULE.check(case(science={"violations": ["x" * 999] * 50}), {})
    assert flag is not None
    assert (len(flag.evidence["violations"]), flag.evidence["count"]) == (20, 50)
    assert len(flag.evidence["violations"][0]) == 200


@pytest.mark.parametrize("science", [None, {}, {"mismatches": [{"severity": "critical"}]}])
def test_no_violation_raises_no_flag(science: dict[str, Any] | None) -> None:
    assert domain_violation.RULE.check(case(science=science), {}) is None


THRESHOLDS = {"window_s": 3600, "max_agent_outcomes": 10, "max_pair_outcomes": 5}


def raised(agent: int, pair: int) -> Flag | None:
    return velocity.RULE.check(case(history={"recent": RecentCounts(agent, pair)}), THRESHOLDS)


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
