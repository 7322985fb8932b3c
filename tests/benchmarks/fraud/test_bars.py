"""Bars of detection and false alarms on a held-out seed; `make governance-report` measures more."""

import pytest

from aex_governance.rules.config import load_rules
from tests.benchmarks.fraud.judging import judge_seeds
from tests.benchmarks.fraud.population import Size
from tests.benchmarks.fraud.report import Report

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SEED = 307


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_every_bar_is_reached(store: str) -> None:
    size = Size(per_rule=60, honest=640) if store == "memory" else Size(per_rule=26, honest=320, bursts=1)
    report = Report((SEED,), judge_seeds([SEED], size, load_rules(), store))
    assert report.tuned_on == ()
    assert report.failures() == []
