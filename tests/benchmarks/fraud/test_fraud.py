"""Rules reach their bars on the labelled corpus, and the report fails where they do not."""

import pytest

from aex_governance.rules.config import load_rule_configs
from aex_models.governance import Action, Flag, Severity, ValidationDecision
from tests.benchmarks.fraud.__main__ import main
from tests.benchmarks.fraud.judging import Judged, judge
from tests.benchmarks.fraud.population import FRAUD, HONEST_WORK, RULES, Size, story
from tests.benchmarks.fraud.report import Rate, Report
from tests.benchmarks.fraud.stories import Label

LIMITS = load_rule_configs()["velocity"].thresholds
ALLOWED = ValidationDecision(valid=True, action=Action.ALLOW)


def held(rule: str) -> ValidationDecision:
    flag = Flag(rule=rule, severity=Severity.MAJOR)
    return ValidationDecision(valid=False, action=Action.HOLD, flags=(flag,), risk_score=0.5)


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_every_bar_is_reached_on_a_seed_that_is_not_for_tuning() -> None:
    rules = load_rule_configs()
    limits = {**rules["velocity"].thresholds, "max_agent_outcomes": 200, "max_pair_outcomes": 100}
    rules = {**rules, "velocity": rules["velocity"].model_copy(update={"thresholds": limits})}
    report = Report([307], await judge(307, Size(per_rule=26, honest=280), rules))
    assert "tuned" not in next(report.lines())
    assert report.failures() == []


@pytest.mark.parametrize("subject", [*FRAUD, *HONEST_WORK])
def test_key_determines_a_story_and_stories_have_every_variant(subject: str) -> None:
    stories = [story(f"3/{subject}/{number}", LIMITS) for number in range(12)]
    assert stories[0] == story(f"3/{subject}/0", LIMITS)
    labels = [attempt.label for each in stories for attempt in each.attempts if attempt.label]
    assert {label.subject.removeprefix("honest: ") for label in labels} == {subject}
    assert {label.variant for label in labels} == set(FRAUD.get(subject) or HONEST_WORK[subject])
    assert all(label.is_fraud is (subject in FRAUD) for label in labels)


@pytest.mark.parametrize(
    ("number", "limit", "consumers"), [(0, LIMITS["max_pair_outcomes"], 1), (1, LIMITS["max_agent_outcomes"], 40)]
)
def test_burst_is_labelled_beyond_the_limit(number: int, limit: int, consumers: int) -> None:
    attempts = story(f"3/velocity/{number}", LIMITS).attempts
    assert [each.label is not None for each in attempts].index(True) == limit
    assert attempts[-1].minutes < LIMITS["window_s"] / 60
    assert len({each.work.consumer.id for each in attempts}) == consumers


def test_missed_fraud_and_flags_on_honest_work_are_below_their_bars() -> None:
    judged = [
        Judged(
            "fraud", Label(rule, "plain", Severity.MAJOR), held(rule) if number < 18 or rule != "velocity" else ALLOWED
        )
        for rule in RULES
        for number in range(20)
    ]
    honest = Label("honest: claims", "plain")
    judged += [Judged("claims", honest, held("velocity") if number < 2 else ALLOWED) for number in range(100)]
    report = Report([101], judged)
    assert report.failures() == [
        "velocity: 90.00% found, 95% required",
        "honest work: 2.00% flagged, at most 1% allowed",
    ]
    assert report.alarms_by_rule()["velocity"] == Rate(2, 100) == report.alarms_by_kind()["claims"]


@pytest.mark.slow
async def test_disabled_rules_are_below_their_bars() -> None:
    off = {"self_dealing", "latency_impossible", "duplicate_output"}
    rules = {name: each.model_copy(update={"enabled": name not in off}) for name, each in load_rule_configs().items()}
    report = Report([211], await judge(211, Size(per_rule=2, honest=16, bursts=0), rules))
    found = report.detection()
    assert {rule for rule, rate in found.items() if rate == Rate(0, 2)} == off
    assert off <= {line.partition(": 0.00% found")[0] for line in report.failures()}


def test_command_prints_failures_and_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "7", "--per-rule", "1", "--honest", "4", "--bursts", "0"]) == 1
    text = capsys.readouterr().out
    assert "Seeds [7]; rules may be tuned on [7]" in text
    assert "below the bar: velocity: unknown found, 95% required" in text
