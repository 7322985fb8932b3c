"""Distant values are flagged, honest spread is not."""

import random
from collections.abc import Callable, Iterable, Sequence

import pytest

from aex_governance.rules.config import load_rule_configs
from aex_governance.rules.histogram import Histogram, bucket_of
from aex_governance.rules.statistical_outlier import RULE, check
from aex_models.governance import Flag, Severity
from tests.services.governance.requests import case

THRESHOLDS = load_rule_configs()[RULE.name].thresholds
Draw = Callable[[random.Random], float]


def history(values: Iterable[float]) -> Histogram:
    counts: dict[int, int] = {}
    for value in values:
        counts[bucket_of(value)] = counts.get(bucket_of(value), 0) + 1
    return Histogram(counts)


def raised(value: float | bool | None, own: Sequence[float] = (), domain: Sequence[float] = ()) -> Flag | None:
    histories = {"own": {"m": history(own)}, "domain": {"m": history(domain)}}
    return check(case(history=histories, extracted_metrics={"m": value}), THRESHOLDS)


def some(draw: Draw, count: int = 60, seed: int = 1) -> list[float]:
    chance = random.Random(seed)
    return [draw(chance) for _ in range(count)]


FAR_OFF: list[tuple[Draw, float]] = [
    (lambda chance: chance.gauss(0.4, 0.05), 0.99),
    (lambda chance: chance.gauss(900, 200), 90_000),
    (lambda chance: chance.gauss(900, 200), 3),
    (lambda chance: chance.lognormvariate(7, 0.5), 90_000),
    (lambda _: 0.5, 0.99),
    (lambda _: 0.9, 0.5),
    (lambda chance: chance.uniform(0.77, 0.83), 1.0),
    (lambda chance: chance.choice([0.8, 0.81]), 0.6),
    (lambda chance: chance.uniform(86, 114), 200),
]


@pytest.mark.parametrize("count", [20, 400])
@pytest.mark.parametrize(("draw", "value"), FAR_OFF)
def test_distant_value_is_flagged(draw: Draw, value: float, count: int) -> None:
    found = [raised(value, some(draw, count, seed)) for seed in range(20)]
    assert sum(each is not None for each in found) >= 19


HONEST: dict[str, Draw] = {
    "normal": lambda chance: chance.gauss(100, 15),
    "around zero": lambda chance: chance.gauss(0, 1),
    "log-normal": lambda chance: chance.lognormvariate(7, 1),
    "uniform": lambda chance: chance.uniform(0, 1),
    "two modes": lambda chance: chance.choice([chance.gauss(1, 0.1), chance.gauss(50, 5)]),
    "mostly near one": lambda chance: chance.betavariate(8, 1),
    "counts": lambda chance: float(sum(chance.random() < 0.03 for _ in range(100))),
    "shares of ten": lambda chance: sum(chance.random() < 0.9 for _ in range(10)) / 10,
    "right but for one in twenty": lambda chance: float(chance.random() > 0.05),
    "half at one": lambda chance: chance.choice([1.0, chance.random()]),
    "always the same": lambda _: 12.0,
}


@pytest.mark.parametrize("draw", HONEST.values(), ids=HONEST)
def test_honest_spread_is_not_flagged(draw: Draw) -> None:
    alarms = checked = 0
    for seed in range(25):
        chance, own = random.Random(seed), history(some(draw, 60, seed + 1_000))
        for _ in range(20):
            checked += 1
            current = case(history={"own": {"m": own}}, extracted_metrics={"m": draw(chance)})
            alarms += check(current, THRESHOLDS) is not None
    assert alarms <= 0.01 * checked


@pytest.mark.parametrize("value", [0.97, 1.0, 0.9, 0.0])
def test_small_difference_from_equal_values_is_honest(value: float) -> None:
    assert raised(value, [1.0] * 100) is None


def test_history_needs_twenty_outcomes() -> None:
    assert raised(90_000, some(FAR_OFF[1][0], 19)) is None
    assert raised(90_000, some(FAR_OFF[1][0], 20)) is not None


def test_own_history_precedes_the_domains() -> None:
    slow, quick = some(lambda chance: chance.gauss(60_000, 5_000)), some(lambda chance: chance.gauss(900, 100))
    assert raised(60_000, own=slow, domain=quick) is None
    flag = raised(60_000, own=slow[:10], domain=quick)
    assert flag is not None
    assert flag.severity is Severity.MINOR
    figures = flag.evidence["metrics"]["m"]
    assert (figures["history_of"], figures["outcomes"], figures["value"]) == ("domain", 60, 60_000)
    assert figures["lowest"] < figures["median"] < figures["highest"] < 2_000
    assert figures["limit"] == round(THRESHOLDS["max_robust_z"] * (1 + 3 / 60), 2)
    assert figures["robust_z"] > figures["limit"]


@pytest.mark.parametrize("value", [True, False, None])
def test_booleans_and_unknown_values_are_not_compared(value: bool | None) -> None:
    assert raised(value, [100.0] * 50) is None


def test_familiar_value_is_honest() -> None:
    assert raised(90_000, [*some(FAR_OFF[1][0], 60), 88_000]) is None


@pytest.mark.parametrize("value", [1e308, -1e308, 10**15])
def test_extreme_values_are_flagged(value: float) -> None:
    assert raised(value, some(FAR_OFF[1][0])) is not None
