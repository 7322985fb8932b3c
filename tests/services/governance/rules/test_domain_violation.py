"""Violations of the domain are held."""

from typing import Any

import pytest

from aex_governance.rules.domain_violation import RULE
from aex_models.governance import Action
from tests.services.governance.requests import case


@pytest.mark.parametrize(
    "violation", ["mean_fitness = 11.17 is above 2", "", {"name": "p_value", "value": -1, "min": 0, "max": 1}, {}]
)
def test_violation_of_any_form_is_held(violation: Any) -> None:
    flag = RULE.check(case(domain="bioinformatics/DMS", science={"violations": [violation]}), {})
    assert flag is not None
    assert RULE.actions[flag.severity] is Action.HOLD
    assert flag.evidence == {"violations": [violation], "count": 1}
    assert "bioinformatics/DMS" in flag.message


def test_violations_are_counted_and_bounded() -> None:
    flag = RULE.check(case(science={"violations": ["x" * 999] * 50}), {})
    assert flag is not None
    assert (len(flag.evidence["violations"]), flag.evidence["count"]) == (20, 50)
    assert len(flag.evidence["violations"][0]) == 200


@pytest.mark.parametrize("science", [None, {}, {"mismatches": [{"severity": "critical"}]}])
def test_no_violation_raises_no_flag(science: dict[str, Any] | None) -> None:
    assert RULE.check(case(science=science), {}) is None
