"""Table of rules: actions, order, any request, decisions from flags, and failing rules."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aex_governance.rules.case import FraudRule, RecentCounts, RuleCase, Thresholds
from aex_governance.rules.config import RuleConfig, load_rule_configs
from aex_governance.rules.table import (
    HISTORY_RULES,
    REQUEST_RULES,
    RULES,
    RuleBroken,
    collect_flags,
    combine_flags,
    compute_risk_score,
    decide,
)
from aex_governance.text.free_text import FreeText, analyze_text
from aex_models.governance import Action, Flag, Severity, ValidationRequest
from tests.examples import examples
from tests.services.governance.requests import case
from tests.services.governance.texts import is_linear

CONTRACT = {
    "metric_out_of_bounds": {"critical": "reject"},
    "claimed_metric_mismatch": {"minor": "allow", "major": "hold", "critical": "reject"},
    "claimed_value_mismatch": {"minor": "allow", "major": "hold", "critical": "hold"},
    "domain_violation": {"critical": "hold"},
    "latency_impossible": {"major": "hold"},
    "duplicate_output": {"minor": "allow", "critical": "hold"},
    "near_duplicate_output": {"major": "hold"},
    "reference_copy": {"critical": "hold"},
    "keyword_stuffing": {"major": "hold"},
    "score_probing": {"major": "hold"},
    "judge_injection": {"major": "hold"},
    "self_dealing": {"critical": "hold"},
    "statistical_outlier": {"minor": "allow"},
    "velocity": {"major": "hold"},
}
CONFIGS = load_rule_configs()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_actions_match_the_contract(rule: FraudRule) -> None:
    assert {severity.value: action.value for severity, action in rule.actions.items()} == CONTRACT[rule.name]
    assert rule.description.endswith(".")


def test_every_rule_of_the_contract_reads_request_or_history() -> None:
    assert [rule.name for rule in RULES] == list(CONTRACT)
    of_history = {"duplicate_output", "near_duplicate_output", "statistical_outlier", "velocity"}
    assert {rule.name for rule in HISTORY_RULES} == of_history
    assert sorted(RULES.index(rule) for rule in (*REQUEST_RULES, *HISTORY_RULES)) == list(range(len(RULES)))


NAMES = st.sampled_from(["accuracy", "rougeL", "latency_ms", "custom.x", "stat.mean", "num_steps", "x"])
NUMBERS = (
    st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.sampled_from([10**400, -(10**20)])
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIGURE = st.floats(allow_nan=False, allow_infinity=False)
FIGURES = st.none() | FIGURE
WORDS = st.lists(st.sampled_from(["a", "b.", "\n", ",", "收入", "7", "# x"]), max_size=60).map(" ".join)
TEXTS = st.none() | st.text(max_size=60) | WORDS
RECORD_KEYS = st.sampled_from(
    ["duration_ms", "ttfb_ms", "processing_ms", "name", "claimed", "recomputed", "severity", "relative_error", "x"]
)
RECORDS = st.dictionaries(RECORD_KEYS, ANYTHING | NUMBERS, max_size=5)
SCIENCE = {
    "mismatches": st.lists(RECORDS, max_size=3),
    "violations": st.lists(st.text(max_size=5) | RECORDS, max_size=3),
}
ATTEMPT = {
    "output_hash": st.integers(0, 5).map(lambda each: f"{each:064x}"),
    "metrics": st.dictionaries(NAMES, NUMBERS, max_size=3),
    "similarity": st.none() | st.floats(0.8, 1),
}
REQUESTS = st.fixed_dictionaries(
    {
        "extracted_metrics": st.dictionaries(NAMES, st.none() | NUMBERS, max_size=5),
        "claimed_metrics": st.dictionaries(NAMES, NUMBERS, max_size=5),
        "science": st.none() | st.fixed_dictionaries(SCIENCE),
        "execution_metadata": RECORDS,
        "platform_latency_ms": FIGURES,
        "output_text": TEXTS,
        "other_text": TEXTS,
        "reference_similarity": st.none() | st.fixed_dictionaries({"rouge_l": FIGURES, "bleu": FIGURES}),
        "keyword_stats": st.none()
        | st.fixed_dictionaries({"found": st.integers(-5, 50), "density": FIGURE, "list_share": FIGURE}),
        "previous_attempts": st.lists(st.fixed_dictionaries(ATTEMPT), max_size=8),
    }
)
EXTREME_UNITS = [" \n\t", "a, b. ", "x", "收", "1. - ", "#*-."]


@pytest.mark.parametrize("unit", EXTREME_UNITS)
def test_extreme_texts_take_linear_time(unit: str) -> None:
    fields = {
        "keyword_stats": {"found": 5, "density": 0.5, "list_share": 1},
        "reference_similarity": {"rouge_l": 1, "bleu": 1},
    }
    history = {"text": FreeText(100_000, is_free=False, sketch=None)}
    assert is_linear(lambda text: decide(case(history=history, output_text=text, **fields), CONFIGS), unit, 200_000)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(REQUESTS)
def test_any_request_is_decided_with_evidence(request: dict[str, Any]) -> None:
    parsed: ValidationRequest = case(**request).request
    text = analyze_text(parsed.output_text) if parsed.output_text else None
    decision = decide(case(history={"text": text}, **request), CONFIGS)
    for flag in decision.flags:
        assert flag.message
        assert flag.evidence
        json.dumps(flag.model_dump(mode="json"))
    assert decide(case(history={"text": text}, **request), CONFIGS) == decision or "nan" in repr(request)


def test_strongest_action_of_the_flags_is_taken() -> None:
    honest = decide(case(claimed_metrics={"rougeL": 0.51}), CONFIGS)
    assert (honest.valid, honest.action, honest.flags, honest.risk_score) == (True, Action.ALLOW, (), 0)
    minor = decide(case(claimed_metrics={"rougeL": 0.55}), CONFIGS)
    assert (minor.valid, [flag.severity for flag in minor.flags]) == (True, [Severity.MINOR])
    strong = decide(case(agent={"id": "acme"}, extracted_metrics={"accuracy": 3}), CONFIGS)
    assert strong.action is Action.REJECT
    assert [flag.rule for flag in strong.flags] == ["metric_out_of_bounds", "self_dealing"]


@given(st.dictionaries(st.sampled_from(["accuracy", "latency_ms", "x"]), st.floats(-2, 2, allow_nan=False)))
def test_valid_means_allowed(metrics: dict[str, float]) -> None:
    decision = decide(case(extracted_metrics=metrics), CONFIGS)
    assert decision.valid is (decision.action is Action.ALLOW)
    assert 0 <= decision.risk_score <= 1
    assert decision.risk_score == compute_risk_score(decision.flags)


def test_request_and_history_rules_combine_to_all_rules() -> None:
    history = {"history": {"recent": RecentCounts(10**6, 10**6)}}
    current = case(agent={"id": "acme"}, extracted_metrics={"accuracy": 3}, **history)
    late = collect_flags(current, CONFIGS, HISTORY_RULES)
    early = collect_flags(RuleCase(current.request), CONFIGS, REQUEST_RULES)
    assert [flag.rule for flag in (*late, *early)] == ["velocity", "metric_out_of_bounds", "self_dealing"]
    assert combine_flags((*late, *early)) == decide(current, CONFIGS)
    assert [flag.rule for flag in decide(current, CONFIGS).flags] == [
        "metric_out_of_bounds",
        "self_dealing",
        "velocity",
    ]


FLAGS = st.lists(st.builds(Flag, rule=st.just("r"), severity=st.sampled_from(Severity)), max_size=8)


@given(FLAGS, FLAGS)
def test_more_flags_never_lower_the_risk(flags: list[Flag], more: list[Flag]) -> None:
    assert 0 <= compute_risk_score(flags) <= compute_risk_score([*flags, *more]) <= 1


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
