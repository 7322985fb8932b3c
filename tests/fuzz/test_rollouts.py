import math
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.rollouts import find_score
from tests.fuzz.effort import effort, soon
from tests.fuzz.values import INVALID, JSON, mutated

FIGURES = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53)
METRICS = st.fixed_dictionaries(
    {},
    optional={
        "mean_return": FIGURES,
        "details": st.fixed_dictionaries({}, optional={"correct": st.booleans()}),
        "episode_returns": st.lists(FIGURES, max_size=4),
        "outcome_score": FIGURES,
    },
)
ROLLOUTS = st.fixed_dictionaries({"run_id": st.just("r"), "trajectories": st.just([]), "metrics": METRICS})


def is_figure(value: Any) -> bool:
    """By the specification's words: a JSON number that a double holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value) and (isinstance(value, float) or int(float(value)) == value)
    except OverflowError:
        return False


def by_the_words(metrics: Any) -> float | None:
    found = metrics if isinstance(metrics, dict) else {}
    details, returns = found.get("details"), found.get("episode_returns")
    if is_figure(found.get("mean_return")):
        return float(found["mean_return"])
    if isinstance(details, dict) and isinstance(details.get("correct"), bool):
        return 1.0 if details["correct"] else 0.0
    if isinstance(returns, list) and returns and all(map(is_figure, returns)):
        return float(sum(map(Fraction, returns)) / len(returns))
    return float(found["outcome_score"]) if is_figure(found.get("outcome_score")) else None


METRICS_OF_ANY_SHAPE = JSON.map(lambda value: {"metrics": value}) | INVALID.map(lambda value: {"rollout": value})


@effort()
@given(mutated(ROLLOUTS) | ROLLOUTS | INVALID | METRICS_OF_ANY_SHAPE)
def test_score_is_finite_and_follows_the_specification(payload: Any) -> None:
    metrics = payload.get("metrics") if isinstance(payload, dict) and "metrics" in payload else None
    score, expected = soon(find_score, payload).value, by_the_words(metrics)
    assert score is None or math.isfinite(score)
    if score is None or expected is None:
        assert score == expected or "rollout" in payload
    else:
        assert math.isclose(score, expected, rel_tol=1e-15, abs_tol=5e-324)
