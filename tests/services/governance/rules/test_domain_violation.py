"""Any violation of the domain is held."""

from typing import Any

import pytest

from aex_governance.rules.domain_violation import RULE
from aex_models.governance import Action
from tests.services.governance.asking import case


@pytest.mark.parametrize(
    "violation", ["mean_fitness = 11.17 is above 2", "", {"name": "p_value", "value": -1, "min": 0, "max": 1}, {}]
)
def test_a_violation_is_held_and_shown_in_whichever_form_it_comes(violation: Any) -> None:
    flag = RULE.check(case(domain="bioinformatics/DMS", science={"violations": [violation]}), {})
    assert flag is not None
    assert RULE.actions[flag.severity] is Action.HOLD
    assert flag.evidence == {"violations": [violation], "count": 1}
    assert "bioinformatics/DMS" in flag.message


def test_many_are_counted_and_long_ones_cut() -> None:
    flag = RULE.check(case(science={"violations": ["x" * 999] * 50}), {})
    assert flag is not None
    assert (len(flag.evidence["violations"]), flag.evidence["count"]) == (20, 50)
    assert len(flag.evidence["violations"][0]) == 200


@pytest.mark.parametrize("science", [None, {}, {"mismatches": [{"severity": "critical"}]}])
def test_without_one_there_is_nothing(science: dict[str, Any] | None) -> None:
    assert RULE.check(case(science=science), {}) is None
