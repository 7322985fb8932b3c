"""From flags to a decision: the strongest action wins, and a rule that breaks decides nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.rules.case import Case, Pace
from aex_governance.rules.config import RuleConfig, load_rules
from aex_governance.rules.decide import RuleBroken, combined, decide, raised, risk_score
from aex_governance.rules.rule import Check, FraudRule, Thresholds
from aex_governance.rules.table import OF_HISTORY, OF_REQUEST
from aex_models.governance import Action, Flag, Severity
from tests.services.governance.asking import case

RULES = load_rules()


def test_honest_work_is_allowed_without_flags() -> None:
    decision = decide(case(claimed_metrics={"rougeL": 0.51}), RULES)
    assert (decision.valid, decision.action, decision.flags, decision.risk_score) == (True, Action.ALLOW, (), 0)


def test_the_strongest_action_wins() -> None:
    decision = decide(case(agent={"id": "acme"}, extracted_metrics={"accuracy": 3}), RULES)
    assert decision.action is Action.REJECT
    assert [flag.rule for flag in decision.flags] == ["metric_out_of_bounds", "self_dealing"]


def test_a_minor_flag_is_on_record_and_allowed() -> None:
    decision = decide(case(claimed_metrics={"rougeL": 0.55}), RULES)
    assert decision.valid
    assert [flag.severity for flag in decision.flags] == [Severity.MINOR]


@given(st.dictionaries(st.sampled_from(["accuracy", "latency_ms", "x"]), st.floats(-2, 2, allow_nan=False)))
def test_valid_means_allowed_and_nothing_else(metrics: dict[str, float]) -> None:
    decision = decide(case(extracted_metrics=metrics), RULES)
    assert decision.valid is (decision.action is Action.ALLOW)
    assert 0 <= decision.risk_score <= 1
    assert decision.risk_score == risk_score(decision.flags)


def test_rules_of_the_request_and_rules_of_history_say_apart_what_they_say_together() -> None:
    pace = {"history": {"pace": Pace(10**6, 10**6)}}
    asked = case(agent={"id": "acme"}, extracted_metrics={"accuracy": 3}, **pace)
    late, early = raised(asked, RULES, OF_HISTORY), raised(Case(asked.request), RULES, OF_REQUEST)
    assert [flag.rule for flag in (*late, *early)] == ["velocity", "metric_out_of_bounds", "self_dealing"]
    assert combined((*late, *early)) == decide(asked, RULES)
    assert [flag.rule for flag in decide(asked, RULES).flags] == ["metric_out_of_bounds", "self_dealing", "velocity"]


FLAGS = st.lists(st.builds(Flag, rule=st.just("r"), severity=st.sampled_from(Severity)), max_size=8)


@given(FLAGS, FLAGS)
def test_more_flags_are_never_less_risk(flags: list[Flag], more: list[Flag]) -> None:
    assert 0 <= risk_score(flags) <= risk_score([*flags, *more]) <= 1


def _broken(case: Case, thresholds: Thresholds) -> Flag | None:
    raise ZeroDivisionError(case.request.domain, thresholds)


def _unheard_of(case: Case, thresholds: Thresholds) -> Flag | None:
    del case, thresholds
    return Flag(rule="broken", severity=Severity.INFO)


@pytest.mark.parametrize("check", [_broken, _unheard_of], ids=["raises", "flags a severity without an action"])
def test_a_rule_that_breaks_is_no_pass_and_no_verdict(check: Check) -> None:
    rule = FraudRule("broken", "", check, {Severity.MAJOR: Action.HOLD}, {})
    with pytest.raises(RuleBroken, match="rule broken broke on attempt att_1"):
        decide(case(), {"broken": RuleConfig()}, [rule])


def test_a_broken_rule_can_be_switched_off() -> None:
    rule = FraudRule("broken", "", _broken, {}, {})
    assert decide(case(), {"broken": RuleConfig(enabled=False)}, [rule]).valid
