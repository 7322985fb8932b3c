"""The report fails for a disabled rule and for false alarms."""

import pytest

from aex_governance.rules.config import load_rules
from aex_models.governance import Action, Flag, Severity, ValidationDecision
from tests.benchmarks.fraud.__main__ import main
from tests.benchmarks.fraud.judging import Judged, judge_seeds
from tests.benchmarks.fraud.population import RULES, Size
from tests.benchmarks.fraud.report import Rate, Report
from tests.benchmarks.fraud.stories import Label

SMALL = Size(per_rule=3, honest=16, bursts=0)
HELD_OUT = 211
ALLOWED = ValidationDecision(valid=True, action=Action.ALLOW)


def decision(rule: str, severity: Severity = Severity.MAJOR) -> ValidationDecision:
    flag = Flag(rule=rule, severity=severity)
    return ValidationDecision(valid=False, action=Action.HOLD, flags=(flag,), risk_score=0.5)


def judged(rule: str, found: int, total: int) -> list[Judged]:
    label = Label(rule, "plain", Severity.MAJOR)
    return [Judged(f"1/{rule}/{n}", label, decision(rule) if n < found else ALLOWED) for n in range(total)]


def honest(flagged: int, total: int) -> list[Judged]:
    label = Label("honest: claims", "plain")
    return [Judged(f"1/claims/{n}", label, decision("velocity") if n < flagged else ALLOWED) for n in range(total)]


def test_rule_below_its_bar_is_named() -> None:
    some = [each for rule in RULES[1:] for each in judged(rule, 20, 20)]
    report = Report((101,), [*some, *judged(RULES[0], 18, 20), *honest(0, 100)])
    assert report.failures() == [f"{RULES[0]}: 90.00% found, 95% required"]
    assert [each.key for each in report.missed] == [f"1/{RULES[0]}/{n}" for n in (18, 19)]


def test_flag_on_honest_work_is_a_false_alarm() -> None:
    report = Report((101,), [*(each for rule in RULES for each in judged(rule, 20, 20)), *honest(2, 100)])
    assert report.failures() == ["honest work: 2.00% flagged, at most 1% allowed"]
    assert report.alarms_by_rule()["velocity"] == Rate(2, 100)
    assert report.alarms_by_kind() == {"claims": Rate(2, 100)}


@pytest.mark.slow
def test_disabled_rules_are_below_their_bars() -> None:
    off = {"self_dealing", "latency_impossible", "duplicate_output"}
    rules = {name: each.model_copy(update={"enabled": name not in off}) for name, each in load_rules().items()}
    report = Report((HELD_OUT,), judge_seeds([HELD_OUT], SMALL, rules, "memory"))
    found = report.detection()
    assert {rule for rule, rate in found.items() if rate == Rate(0, SMALL.per_rule)} == off
    assert off <= {line.partition(": 0.00% found")[0] for line in report.failures()}
    assert found["metric_out_of_bounds"] == found["claimed_metric_mismatch"] == Rate(SMALL.per_rule, SMALL.per_rule)


def test_command_prints_failures_and_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    size = ["--seeds", "7", "--per-rule", "2", "--honest", "16", "--bursts", "0"]
    assert main(size) == 1  # no bursts: no examples of `velocity`
    text = capsys.readouterr().out
    assert "Seeds 7; rules may be tuned on 7" in text
    assert "below the bar: velocity: unknown found, 95% required" in text
