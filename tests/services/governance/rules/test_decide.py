"""Decisions from flags: the strongest action, and failing rules."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.rules.case import FraudRule, RecentCounts, RuleCase, Thresholds
from aex_governance.rules.config import RuleConfig, load_rules
from aex_governance.rules.table import (
    HISTORY_RULES,
    REQUEST_RULES,
    RuleBroken,
    combine_flags,
    decide,
    raise_flags,
    risk_score,
)
from aex_models.governance import Action, Flag, Severity
from tests.services.governance.requests import case

RULES = load_rules()


def test_honest_attempt_is_allowed() -> None:
    decision = decide(case(claimed_metrics={"rougeL": 0.51}), RULES)
    assert (decision.valid, decision.action, decision.flags, decision.risk_score) == (True, Action.ALLOW, (), 0)


def test_strongest_action_wins() -> None:
    decision = decide(case(agent={"id": "acme"}, extracted_metrics={"accuracy": 3}), RULES)
    assert decision.action is Action.REJECT
    assert [flag.rule for flag in decision.flags] == ["metric_out_of_bounds", "self_dealing"]


def test_minor_flag_is_allowed() -> None:
    decision = decide(case(claimed_metrics={"rougeL": 0.55}), RULES)
    assert decision.valid
    assert [flag.severity for flag in decision.flags] == [Severity.MINOR]


@given(st.dictionaries(st.sampled_from(["accuracy", "latency_ms", "x"]), st.floats(-2, 2, allow_nan=False)))
def test_valid_means_allowed(metrics: dict[str, float]) -> None:
    decision = decide(case(extracted_metrics=metrics), RULES)
    assert decision.valid is (decision.action is Action.ALLOW)
    assert 0 <= decision.risk_score <= 1
    assert decision.risk_score == risk_score(decision.flags)


def test_request_and_history_rules_combine_to_all_rules() -> None:
    history = {"history": {"recent": RecentCounts(10**6, 10**6)}}
    current = case(agent={"id": "acme"}, extracted_metrics={"accuracy": 3}, **history)
    late, early = (
        raise_flags(current, RULES, HISTORY_RULES),
        raise_flags(RuleCase(current.request), RULES, REQUEST_RULES),
    )
    assert [flag.rule for flag in (*late, *early)] == ["velocity", "metric_out_of_bounds", "self_dealing"]
    assert combine_flags((*late, *early)) == decide(current, RULES)
    assert [flag.rule for flag in decide(current, RULES).flags] == ["metric_out_of_bounds", "self_dealing", "velocity"]


FLAGS = st.lists(st.builds(Flag, rule=st.just("r"), severity=st.sampled_from(Severity)), max_size=8)


@given(FLAGS, FLAGS)
def test_more_flags_never_lower_the_risk(flags: list[Flag], more: list[Flag]) -> None:
    assert 0 <= risk_score(flags) <= risk_score([*flags, *more]) <= 1


def _fail(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    raise ZeroDivisionError(case.request.domain, thresholds)


def _raise_other_severity(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    del case, thresholds
    return Flag(rule="broken", severity=Severity.INFO)


@pytest.mark.parametrize("check", [_fail, _raise_other_severity], ids=["raises", "flags a severity without an action"])
def test_failing_rule_raises_an_error(check: Callable[[RuleCase, Thresholds], Flag | None]) -> None:
    rule = FraudRule("broken", "", check, {Severity.MAJOR: Action.HOLD}, {})
    with pytest.raises(RuleBroken, match="rule broken broke on attempt att_1"):
        decide(case(), {"broken": RuleConfig()}, [rule])


def test_failing_rule_can_be_disabled() -> None:
    rule = FraudRule("broken", "", _fail, {}, {})
    assert decide(case(), {"broken": RuleConfig(enabled=False)}, [rule]).valid
