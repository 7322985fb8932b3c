"""Consumers and agents of one principal or organisation are held."""

import pytest

from aex_governance.rules.self_dealing import RULE
from aex_models.governance import Action
from tests.services.governance.requests import case


@pytest.mark.parametrize(
    ("agent", "consumer"),
    [
        ({"id": "bot"}, {"id": "bot"}),
        ({"id": "Bot"}, {"id": "bOT"}),
        ({"id": "bot", "org": "x"}, {"id": "bot", "org": "y"}),
        ({"id": "bot", "org": "x"}, {"id": "acme", "org": "x"}),
        ({"id": "acme-bot", "org": "Acme"}, {"id": "acme"}),
        ({"id": "bot"}, {"id": "buyer", "org": "BOT"}),
        ({"id": "bot", "org": "x"}, {"id": "x", "org": "y"}),
        ({"id": "bot", "org": "ACME-Labs"}, {"id": "buyer", "org": "acme-labs"}),
    ],
)
def test_one_principal_or_organisation_is_held(agent: dict[str, str], consumer: dict[str, str]) -> None:
    flag = RULE.check(case(agent=agent, consumer=consumer), {})
    assert flag is not None
    assert RULE.actions[flag.severity] is Action.HOLD
    assert flag.evidence["agent"] == {"org": None, **agent}
    assert flag.evidence["consumer"] == {"org": None, **consumer}


@pytest.mark.parametrize(
    ("agent", "consumer"),
    [
        ({"id": "bot"}, {"id": "acme"}),
        ({"id": "bot", "org": "x"}, {"id": "acme", "org": "y"}),
        ({"id": "bot", "org": "x"}, {"id": "acme"}),
        ({"id": "bot"}, {"id": "acme", "org": "x"}),
        ({"id": "acme-labs", "org": "x"}, {"id": "acme", "org": "xx"}),
    ],
)
def test_different_parties_are_honest(agent: dict[str, str], consumer: dict[str, str]) -> None:
    assert RULE.check(case(agent=agent, consumer=consumer), {}) is None
