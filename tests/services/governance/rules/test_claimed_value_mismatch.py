"""Claimed values compared with the recomputed ones."""

from typing import Any

import pytest

from aex_governance.rules.claimed_value_mismatch import RULE
from aex_governance.rules.config import load_rule_configs
from aex_models.governance import Action, Flag, Severity
from tests.services.governance.requests import case

THRESHOLDS = load_rule_configs()[RULE.name].thresholds


def flag_of(*mismatches: dict[str, Any]) -> Flag | None:
    return RULE.check(case(science={"mismatches": mismatches}), THRESHOLDS)


def severity(**mismatch: Any) -> Severity:
    flag = flag_of({"name": "mean_fitness", **mismatch})
    assert flag is not None
    return flag.severity


@pytest.mark.parametrize(
    ("stated", "action"), [("minor", Action.ALLOW), ("major", Action.HOLD), ("critical", Action.HOLD)]
)
def test_severity_of_the_science_gate_is_used(stated: str, action: Action) -> None:
    assert RULE.actions[severity(severity=stated, claimed=1.0, recomputed=1.02)] is action
    assert severity(severity=stated.upper()).value == stated


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({"claimed": 1.05, "recomputed": 1.0}, Severity.MINOR),  # 5 %, and slightly more in binary
        ({"claimed": "-1e0", "recomputed": 1}, Severity.CRITICAL),
        ({"claimed": 1.4, "recomputed": 1.0}, Severity.MAJOR),
        ({"claimed": 11.17, "recomputed": -0.35}, Severity.CRITICAL),
        ({"claimed": -1.0, "recomputed": 1.0, "relative_error": 0.01}, Severity.CRITICAL),
        ({"claimed": 0.2, "recomputed": 0.0}, Severity.CRITICAL),
        ({"relative_error": 0.05}, Severity.MINOR),
        ({"relative_error": 0.0501}, Severity.MAJOR),
        ({"relative_error": -0.9}, Severity.CRITICAL),
        ({"claimed": 1e308, "recomputed": 1e-308}, Severity.CRITICAL),
    ],
)
@pytest.mark.parametrize("stated", [{}, {"severity": None}, {"severity": "terrible"}, {"severity": 3}])
def test_figures_give_an_unknown_severity(figures: dict[str, Any], expected: Severity, stated: dict[str, Any]) -> None:
    assert severity(**figures, **stated) is expected


def test_worse_of_severity_and_figures_is_used() -> None:
    assert severity(severity="minor", claimed=3.0, recomputed=1.0) is Severity.CRITICAL
    assert severity(severity="critical", claimed=1.01, recomputed=1.0) is Severity.CRITICAL
    assert severity(severity="minor", relative_error=0.3) is Severity.MAJOR


@pytest.mark.parametrize(
    "mismatch", [{}, {"claimed": 1.0}, {"claimed": "eleven", "recomputed": [1]}, {"claimed": True, "recomputed": False}]
)
def test_mismatch_without_figures_is_major(mismatch: dict[str, Any]) -> None:
    assert severity(**mismatch) is Severity.MAJOR


@pytest.mark.parametrize("science", [None, {}, {"violations": ["x"]}])
def test_no_mismatch_raises_no_flag(science: dict[str, Any] | None) -> None:
    assert RULE.check(case(science=science), THRESHOLDS) is None


def test_worst_mismatch_comes_first() -> None:
    flag = flag_of(*[{"name": f"m{n}", "severity": "minor"} for n in range(30)], {"name": "std", "severity": "major"})
    assert flag is not None
    assert flag.severity is Severity.MAJOR
    assert flag.evidence["mismatches"][0] == {"name": "std", "severity": "major"}
    assert (len(flag.evidence["mismatches"]), flag.evidence["count"]) == (20, 31)
    assert "std" in flag.message
