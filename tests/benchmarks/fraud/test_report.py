"""The report itself is checked: it has to fail where a rule is off, and where honest work is harassed."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import pytest

from aex_governance.rules.config import load_rules
from aex_models.governance import Action, Flag, Severity, ValidationDecision, ValidationRequest
from tests.benchmarks.fraud.__main__ import main, seeds_of
from tests.benchmarks.fraud.judging import Judged, judge, judged_seeds
from tests.benchmarks.fraud.population import RULES, Size
from tests.benchmarks.fraud.report import Rate, Report
from tests.benchmarks.fraud.scene import TUNING_SEEDS
from tests.benchmarks.fraud.service import Validate, limits_of
from tests.benchmarks.fraud.story import Label

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


def test_all_rules_found_and_no_honest_work_flagged_is_above_the_bars() -> None:
    report = Report((101,), [*(each for rule in RULES for each in judged(rule, 19, 20)), *honest(1, 100)])
    assert report.below() == []


def test_a_rule_below_its_bar_is_named() -> None:
    some = [each for rule in RULES[1:] for each in judged(rule, 20, 20)]
    report = Report((101,), [*some, *judged(RULES[0], 18, 20), *honest(0, 100)])
    assert report.below() == [f"{RULES[0]}: 90.00% found, 95% wanted"]
    assert [each.key for each in report.missed] == [f"1/{RULES[0]}/{n}" for n in (18, 19)]


def test_a_rule_without_examples_has_not_reached_its_bar() -> None:
    report = Report((101,), honest(0, 10))
    assert f"{RULES[0]}: unknown found, 95% wanted" in report.below()


def test_a_flag_that_is_less_grave_than_is_due_is_a_miss() -> None:
    label = Label("velocity", "plain", Severity.MAJOR)
    assert not Judged("1/velocity/0", label, decision("velocity", Severity.MINOR)).is_found
    assert not Judged("1/velocity/0", label, decision("self_dealing")).is_found


def test_any_flag_on_honest_work_is_a_false_alarm() -> None:
    report = Report((101,), [*(each for rule in RULES for each in judged(rule, 20, 20)), *honest(2, 100)])
    assert report.below() == ["honest work: 2.00% flagged, at most 1% wanted"]
    assert report.alarms_by_rule()["velocity"] == Rate(2, 100)
    assert report.alarms_by_kind() == {"claims": (Rate(2, 100), Rate(2, 100))}


def test_the_interval_is_wilson_s() -> None:
    assert Rate(81, 263).interval == pytest.approx((0.2553, 0.3662), abs=1e-4)  # R. G. Newcombe (1998), table I
    assert Rate(0, 20).interval == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert Rate(0, 0).interval == (0.0, 1.0)


@pytest.mark.slow
def test_a_service_with_rules_switched_off_fails_for_just_those_rules() -> None:
    off = {"self_dealing", "latency_impossible", "duplicate_output"}
    rules = {name: each.model_copy(update={"enabled": name not in off}) for name, each in load_rules().items()}
    report = Report((HELD_OUT,), judged_seeds([HELD_OUT], SMALL, rules, "memory"))
    found = report.detection()
    assert {rule for rule, rate in found.items() if rate == Rate(0, SMALL.per_rule)} == off
    assert off <= {line.partition(": 0.00% found")[0] for line in report.below()}
    assert found["metric_out_of_bounds"] == found["claimed_metric_mismatch"] == Rate(SMALL.per_rule, SMALL.per_rule)


@asynccontextmanager
async def suspicious() -> AsyncIterator[Validate]:
    """A service that flags everything, for everything."""

    async def validate(request: ValidationRequest, at: datetime) -> ValidationDecision:
        del request, at
        flags = tuple(Flag(rule=rule, severity=severity) for rule in RULES for severity in Severity)
        return ValidationDecision(valid=False, action=Action.REJECT, flags=flags, risk_score=1.0)

    yield validate


async def test_a_service_that_flags_everything_fails_on_false_alarms() -> None:
    found = await judge(HELD_OUT, SMALL, suspicious, limits_of(load_rules()))
    report = Report((HELD_OUT,), found)
    assert report.missed == []
    assert report.alarms() == (Rate(16, 16), Rate(16, 16))
    assert "honest work: 100.00% flagged, at most 1% wanted" in report.below()


def test_the_report_says_which_seeds_may_have_been_tuned_on() -> None:
    assert Report((20, 21, 101), []).tuned_on == (20,)
    assert not set(seeds_of("101,102")) & set(TUNING_SEEDS)


def test_what_went_wrong_is_named_by_a_key_and_the_exit_code_tells(capsys: pytest.CaptureFixture[str]) -> None:
    size = ["--seeds", "7", "--per-rule", "2", "--honest", "16", "--bursts", "0"]
    assert main(size) == 1  # no bursts: nothing is known of `velocity`
    told = capsys.readouterr().out
    assert "Seeds 7: of these 7 may have been used while tuning." in told
    assert "below the bar: velocity: unknown found, 95% wanted" in told
    assert "\x1b" not in told
    assert "│" not in told
    assert main([*size, "--json"]) == 1
    told_to_programs = json.loads(capsys.readouterr().out)
    assert told_to_programs["rules"]["velocity"]["detection"]["rate"] is None
    assert told_to_programs["honest"]["claims"]["flagged"]["total"] == 1


def test_one_example_is_shown_as_it_went_in_its_population(capsys: pytest.CaptureFixture[str]) -> None:
    size = ["--per-rule", "2", "--honest", "16", "--bursts", "0"]
    assert main([*size, "--example", "7/self_dealing/1"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["label"] == "self_dealing, one principal, two organisations, critical"
    assert shown["request"]["agent"]["id"] == shown["request"]["consumer"]["id"]
    assert shown["decision"]["flags"][0]["rule"] == "self_dealing"
    assert main(["--example", "7/nothing/1"]) == 2
    assert "expected SEED/RULE-OR-KIND/NUMBER" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "x", "4-2", "1,,b", "-3"])
def test_seeds_that_are_none_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([f"--seeds={text}"])
    assert "as in 101,103 or 101-104" in capsys.readouterr().err


def test_seeds_are_listed_or_ranged() -> None:
    assert seeds_of("7, 3-5 7") == [7, 3, 4, 5]
