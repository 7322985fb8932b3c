"""The first rules: what raises them, what does not, and what is done."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.rules.config import BadRuleConfig, load_rules
from aex_governance.rules.decide import decide, risk_score
from aex_models.governance import Action, Severity
from tests.services.governance.asking import case

RULES = load_rules()


def flags(**changes: Any) -> dict[str, Severity]:
    return {flag.rule: flag.severity for flag in decide(case(**changes), RULES).flags}


def test_honest_work_is_allowed_without_flags() -> None:
    decision = decide(case(claimed_metrics={"rougeL": 0.51}), RULES)
    assert (decision.valid, decision.action, decision.flags, decision.risk_score) == (True, Action.ALLOW, (), 0)


@pytest.mark.parametrize(
    "metrics", [{"accuracy": 92}, {"latency_ms": -1}, {"output_length": -5}, {"rougeL": None}, {"confidence": 1.01}]
)
def test_impossible_values_are_rejected(metrics: dict[str, Any]) -> None:
    decision = decide(case(extracted_metrics=metrics), RULES)
    assert decision.action is Action.REJECT
    assert not decision.valid
    assert next(iter(metrics)) in decision.flags[0].evidence["metrics"]


@pytest.mark.parametrize("metrics", [{"accuracy": 1}, {"accuracy": 0.0}, {"stat.mean": -7.5}, {"ok": True}])
def test_possible_values_are_left_alone(metrics: dict[str, Any]) -> None:
    assert flags(extracted_metrics=metrics) == {}


@pytest.mark.parametrize(
    ("claimed", "extracted", "severity"),
    [
        (0.5, 0.5, None),
        (0.52, 0.5, None),
        (0.525, 0.5, None),
        (0.53, 0.5, Severity.MINOR),
        (0.6, 0.5, Severity.MINOR),
        (0.61, 0.5, Severity.MAJOR),
        (0.26, 0.5, Severity.MAJOR),
        (1.0, 0.5, Severity.CRITICAL),
        (0.25, 0.5, Severity.CRITICAL),
        (-0.5, 0.5, Severity.CRITICAL),
        (0.1, 0.0, Severity.CRITICAL),
        (0.0, 0.0, None),
        (True, False, Severity.MAJOR),
        (True, True, None),
    ],
)
def test_claims_are_held_against_what_was_extracted(
    claimed: float, extracted: float, severity: Severity | None
) -> None:
    raised = flags(claimed_metrics={"stat.x": claimed}, extracted_metrics={"stat.x": extracted})
    assert raised == ({"claimed_metric_mismatch": severity} if severity else {})


def test_a_claim_that_nobody_extracted_is_left_to_others() -> None:
    assert flags(claimed_metrics={"novelty": 1.0}) == {}


@pytest.mark.parametrize(
    ("agent", "consumer", "raised"),
    [
        ({"id": "bot"}, {"id": "bot"}, True),
        ({"id": "bot", "org": "x"}, {"id": "acme", "org": "x"}, True),
        ({"id": "bot", "org": "x"}, {"id": "acme", "org": "y"}, False),
        ({"id": "bot"}, {"id": "acme"}, False),
        ({"id": "bot", "org": "x"}, {"id": "acme"}, False),
    ],
)
def test_self_dealing_is_held(agent: dict[str, str], consumer: dict[str, str], raised: bool) -> None:
    decision = decide(case(agent=agent, consumer=consumer), RULES)
    assert (decision.action is Action.HOLD) is raised


def test_the_strongest_action_wins() -> None:
    decision = decide(case(agent={"id": "acme"}, extracted_metrics={"accuracy": 3}), RULES)
    assert decision.action is Action.REJECT
    assert len(decision.flags) == 2


@given(st.dictionaries(st.sampled_from(["accuracy", "latency_ms", "x"]), st.floats(-2, 2, allow_nan=False)))
def test_valid_means_allowed_and_nothing_else(metrics: dict[str, float]) -> None:
    decision = decide(case(extracted_metrics=metrics), RULES)
    assert decision.valid is (decision.action is Action.ALLOW)
    assert 0 <= decision.risk_score <= 1
    assert decision.risk_score == risk_score(decision.flags)


def test_a_rule_can_be_switched_off_and_its_thresholds_moved(tmp_path: Path) -> None:
    own = tmp_path / "rules.yaml"
    own.write_text("self_dealing: {enabled: false}\nclaimed_metric_mismatch: {thresholds: {minor_relative: 0.5}}\n")
    rules = load_rules(own)
    decision = decide(
        case(agent={"id": "acme"}, claimed_metrics={"rougeL": 0.55}, extracted_metrics={"rougeL": 0.5}), rules
    )
    assert decision.flags == ()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("no_such_rule: {}", "no_such_rule"),
        ("self_dealing: {on: true}", "self_dealing"),
        ("self_dealing: {enabled: maybe}", "self_dealing.enabled"),
        ("claimed_metric_mismatch: {thresholds: {minor: 1}}", "claimed_metric_mismatch.thresholds.minor"),
        ("claimed_metric_mismatch: {thresholds: {minor_relative: much}}", "thresholds.minor_relative"),
        ("[1, 2]", "mapping"),
    ],
)
def test_a_bad_rules_file_is_refused_with_the_path(tmp_path: Path, text: str, path: str) -> None:
    own = tmp_path / "rules.yaml"
    own.write_text(text)
    with pytest.raises(BadRuleConfig, match=path):
        load_rules(own)
