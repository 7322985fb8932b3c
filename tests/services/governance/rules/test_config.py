"""Switches and thresholds from YAML: problems have their path and the fix."""

from pathlib import Path

import pytest
import yaml

from aex_governance.rules.case import FraudRule
from aex_governance.rules.config import BadRuleConfig, load_rule_configs
from aex_governance.rules.table import RULES, decide
from tests.services.governance.requests import case


def write_rules(tmp_path: Path, text: str) -> Path:
    own = tmp_path / "rules.yaml"
    own.write_text(text, encoding="utf-8")
    return own


def test_file_disables_rules_and_sets_thresholds(tmp_path: Path) -> None:
    own = "self_dealing: {enabled: false}\nclaimed_metric_mismatch: {thresholds: {minor_relative: 0.15}}\n"
    request = case(agent={"id": "acme"}, claimed_metrics={"rougeL": 0.55}, extracted_metrics={"rougeL": 0.5})
    assert decide(request, load_rule_configs(write_rules(tmp_path, own))).flags == ()
    assert len(decide(request, load_rule_configs()).flags) == 2


def test_bounds_and_thresholds_are_merged_into_the_defaults(tmp_path: Path) -> None:
    own = (
        "metric_out_of_bounds: {thresholds: {bounds: {custom.share: [0, 1], latency_ms: [null, null]}}}\n"
        "velocity: {thresholds: {window_s: 86400}}"
    )
    rules = load_rule_configs(write_rules(tmp_path, own))
    bounds = rules["metric_out_of_bounds"].thresholds["bounds"]
    assert rules["velocity"].thresholds["window_s"] == 86_400, "the longest"
    assert (bounds["custom.share"], bounds["latency_ms"], bounds["accuracy"]) == ([0, 1], [None, None], [0, 1])


@pytest.mark.parametrize("written", ["1e3", "1E+3", "1.0e3", "1000", "1000.0"])
def test_numbers_have_exponents(tmp_path: Path, written: str) -> None:
    own = "latency_impossible: {thresholds: {slack_ms: 0}}\nvelocity: {thresholds: {max_agent_outcomes: 0}}"
    own = own.replace("0}}", f"{written}}}}}")
    rules = load_rule_configs(write_rules(tmp_path, own))
    assert rules["latency_impossible"].thresholds["slack_ms"] == 1000
    limit = rules["velocity"].thresholds["max_agent_outcomes"]
    assert (limit, type(limit)) == (1000, int)


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "{}", "self_dealing: {}"])
def test_empty_file_changes_nothing(tmp_path: Path, text: str) -> None:
    assert load_rule_configs(write_rules(tmp_path, text)) == load_rule_configs()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no_such_rule: {}", r"no_such_rule: no such rule; the rules are claimed_metric_mismatch, "),
        ("self_dealing:", "self_dealing: expected `enabled` or `thresholds` under it, not None"),
        ("self_dealing: {on: true}", "self_dealing.True: no such setting; a rule has `enabled` and `thresholds`"),
        ("self_dealing: {enabled: maybe}", "self_dealing.enabled: expected true or false, not 'maybe'"),
        ("self_dealing: {thresholds: [1]}", r"self_dealing.thresholds: expected `name: value` under it, not \[1\]"),
        ("self_dealing: {thresholds: {x: 1}}", "self_dealing.thresholds.x: no such threshold; the rule has none"),
        (
            "claimed_metric_mismatch: {thresholds: {minor: 1}}",
            "thresholds.minor: no such threshold; it has absolute_tolerance, critical_factor, major_relative, minor_",
        ),
        ("latency_impossible: {thresholds: {slack_ms: much}}", "slack_ms: expected a number that is not negative"),
        ("latency_impossible: {thresholds: {slack_ms: true}}", "slack_ms: .* not True"),
        ("duplicate_output: {thresholds: {min_tokens: 49}}", "min_tokens: expected at least 50: .*, not 49"),
        ("velocity: {thresholds: {window_s: 90000}}", "window_s: expected at most 86400, .*, not 90000"),
        ("latency_impossible: {thresholds: {slack_ms: '1e3'}}", "slack_ms: .* not '1e3'"),
        ("velocity: {thresholds: {max_agent_outcomes: 2.5}}", "max_agent_outcomes: expected a whole number, 1 or more"),
        ("velocity: {thresholds: {window_s: 59}}", "window_s: expected whole seconds, from 60 to 86400, not 59"),
        ("statistical_outlier: {thresholds: {max_robust_z: 0}}", "max_robust_z: expected a number greater than 0"),
        ("claimed_metric_mismatch: {thresholds: {critical_factor: 1}}", "critical_factor: expected .* greater than 1"),
        (
            "claimed_metric_mismatch: {thresholds: {minor_relative: 0.2}}",
            "minor_relative: expected less than major_relative, which is 0.2, not 0.2",
        ),
        ("reference_copy: {thresholds: {min_likeness: 85}}", "min_likeness: expected a share, from 0 to 1, not 85"),
        ("score_probing: {thresholds: {open_metrics: accuracy}}", "open_metrics: expected a list of names"),
        ("metric_out_of_bounds: {thresholds: {bounds: [0, 1]}}", r"bounds: expected `metric: \[least, most\]`"),
        ("metric_out_of_bounds: {thresholds: {bounds: {x: 1}}}", "bounds.x: expected .*least ≤ most, not 1"),
        ("metric_out_of_bounds: {thresholds: {bounds: {x: [1, 0]}}}", r"bounds.x: .* not \[1, 0\]"),
        ("[1, 2]", "expected a mapping of rule names, such as `self_dealing: {enabled: false}`"),
        ("self_dealing: {enabled: false", "line 1, column 30: not readable as YAML"),
        ("self_dealing: !!python/name:os.system x", "line 1, column 15: not readable as YAML"),
        ("self_dealing: {}\nself_dealing: {}", "line 2, column 1: .* the key self_dealing stands twice"),
        ("velocity: \x00", "not readable as YAML"),
        ("[" * 400, "not readable as YAML"),
    ],
)
def test_invalid_file_is_refused_with_path_and_fix(tmp_path: Path, text: str, problem: str) -> None:
    own = write_rules(tmp_path, text)
    with pytest.raises(BadRuleConfig, match=problem) as refused:
        load_rule_configs(own)
    assert str(refused.value).startswith(str(own))


def test_all_problems_are_reported(tmp_path: Path) -> None:
    own = "nothing: {}\nself_dealing: {enabled: 3, thresholds: {x: 1}}\nlatency_impossible: {enabled: 4}\n"
    with pytest.raises(BadRuleConfig) as refused:
        load_rule_configs(write_rules(tmp_path, own))
    for path in ("nothing:", "self_dealing.enabled:", "self_dealing.thresholds.x:", "latency_impossible.enabled:"):
        assert path in str(refused.value)


def test_other_encoding_or_missing_file_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "rules.yaml"
    with pytest.raises(FileNotFoundError):
        load_rule_configs(own)
    own.write_bytes("self_dealing: {} # für".encode("latin-1"))
    with pytest.raises(BadRuleConfig, match="save the file in that encoding"):
        load_rule_configs(own)


def test_packaged_values_are_valid(tmp_path: Path) -> None:
    text = yaml.safe_dump({name: config.model_dump() for name, config in load_rule_configs().items()})
    assert load_rule_configs(write_rules(tmp_path, text)) == load_rule_configs()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_thresholds_and_notes_match(rule: FraudRule) -> None:
    assert set(load_rule_configs()[rule.name].thresholds) == set(rule.threshold_notes)
    assert all(rule.threshold_notes.values())
