"""The canonical score of a rollout: every branch of the chain, and what is no score."""

import math
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.rollout import RolloutResponse
from aex_outcomes import score_or_zero, score_rollout
from aex_outcomes.rollouts.scoring import DEPRECATED, ScoreSource, find_score
from tests.libs.outcomes.rollouts.samples import a_rollout, an_episode

MEAN, CORRECT, RETURNS, OLD = ScoreSource
FULL: dict[str, Any] = {
    "mean_return": 0.7,
    "details": {"correct": True},
    "episode_returns": [0.2, 0.4],
    "outcome_score": 0.9,
}
NO_NUMBERS: list[Any] = [None, True, False, math.nan, math.inf, -math.inf, "0.5", "", [], [0.5], {}, 10**400, 2**53 + 1]
"""What is no score where a number is wanted; the last two are no doubles."""
NO_DETAILS: list[Any] = [None, {}, [], "correct", True]

CHAIN: list[tuple[str, dict[str, Any], float | None, ScoreSource | None]] = [
    ("the mean return comes first", FULL, 0.7, MEAN),
    ("an integer is a number", FULL | {"mean_return": 2}, 2.0, MEAN),
    ("a negative mean is a score", FULL | {"mean_return": -3.5}, -3.5, MEAN),
    ("0.0 is a score and stops the chain", FULL | {"mean_return": 0.0}, 0.0, MEAN),
    ("so is 0", FULL | {"mean_return": 0}, 0.0, MEAN),
    *((f"mean_return {value!r:.9} is none", FULL | {"mean_return": value}, 1.0, CORRECT) for value in NO_NUMBERS),
    ("wrong is 0.0, and stops the chain", FULL | {"mean_return": None, "details": {"correct": False}}, 0.0, CORRECT),
    *(
        (f"correct {value!r:.9} is none", FULL | {"mean_return": None, "details": {"correct": value}}, 0.3, RETURNS)
        for value in (None, 1, 0, 1.0, "true", math.nan, [True])
    ),
    *(
        (f"details {value!r:.9} hold none", FULL | {"mean_return": None, "details": value}, 0.3, RETURNS)
        for value in NO_DETAILS
    ),
    ("returns of 0 are a score", {"episode_returns": [0.0, 0], "outcome_score": 0.9}, 0.0, RETURNS),
    *(
        (f"returns {value!r:.20} have no mean", {"episode_returns": value, "outcome_score": 0.9}, 0.9, OLD)
        for value in (None, [], "12", 0.5, True, {"0": 1.0}, *([0.5, each] for each in NO_NUMBERS))
    ),
    ("the deprecated field is read last", {"outcome_score": 0.9}, 0.9, OLD),
    ("and may be 0.0", {"outcome_score": 0.0}, 0.0, OLD),
    *((f"outcome_score {value!r:.9} is none", {"outcome_score": value}, None, None) for value in NO_NUMBERS),
    ("no figures, no score", {}, None, None),
]


@pytest.mark.parametrize(("metrics", "score", "source"), [each[1:] for each in CHAIN], ids=[each[0] for each in CHAIN])
def test_the_first_place_that_holds_a_score_decides(
    metrics: dict[str, Any], score: float | None, source: ScoreSource | None
) -> None:
    payload = {"run_id": "run_1", "trajectories": [], "metrics": metrics}
    found = find_score(payload)
    assert found.source is source
    assert found.value == pytest.approx(score, abs=1e-15)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert score_rollout(payload) == found.value
        assert score_or_zero(payload) == (found.value or 0.0)
    assert [each.category for each in caught] == ([DeprecationWarning] * 2 if source is OLD else [])
    assert found.warnings == ((DEPRECATED,) if source is OLD else ())


def test_the_deprecated_field_warns_whoever_calls() -> None:
    with pytest.warns(DeprecationWarning, match=r"outcome_score is deprecated: write metrics\.mean_return") as caught:
        assert score_rollout({"metrics": {"outcome_score": 0.5}}) == 0.5
    assert caught[0].filename == __file__


@pytest.mark.parametrize("payload", [None, 1.0, "rollout", [], {}, {"metrics": None}, {"metrics": [0.5]}, object()])
def test_what_is_no_rollout_has_no_score_and_raises_nothing(payload: Any) -> None:
    assert score_rollout(payload) is None
    assert score_or_zero(payload) == 0.0


def test_absent_and_zero_differ_until_a_caller_wants_them_alike() -> None:
    absent: dict[str, Any] = {"metrics": {}}
    zero = {"metrics": {"mean_return": 0.0}}
    assert (score_rollout(absent), score_rollout(zero)) == (None, 0.0)
    assert score_or_zero(absent) == score_or_zero(zero) == 0.0


def test_an_old_payload_without_a_mean_is_scored_though_it_is_no_valid_rollout() -> None:
    payload = a_rollout(an_episode(0.5, 1.0), an_episode(0.5))
    del payload["metrics"]["mean_return"]
    assert score_rollout(payload) == 1.0


def test_a_model_is_scored_as_its_payload() -> None:
    payload = a_rollout(an_episode(0.25), details={"correct": True})
    assert score_rollout(RolloutResponse.model_validate(payload)) == score_rollout(payload) == 0.25


def test_the_rollout_of_an_output_is_scored_where_the_output_is_none_itself() -> None:
    payload = a_rollout(an_episode(0.25))
    assert score_rollout({"rollout": payload, "text": "done"}) == 0.25
    assert score_rollout({"rollout": RolloutResponse.model_validate(payload)}) == 0.25
    assert score_or_zero({"rollout": {"metrics": {"episode_returns": [1.0, 2.0]}}}) == 1.5
    assert score_rollout({"rollout": payload, "metrics": {"mean_return": 0.75}}) == 0.75
    assert score_rollout({"rollout": payload, "metrics": {}}) is None
    assert score_rollout({"rollout": {"rollout": payload}}) is None
    assert score_rollout({"rollout": [payload]}) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
PLACES = st.fixed_dictionaries(
    {},
    optional={
        "mean_return": JSON,
        "details": JSON | st.fixed_dictionaries({"correct": JSON}),
        "episode_returns": JSON | st.lists(st.floats()),
        "outcome_score": JSON,
    },
)


@given(PLACES)
def test_a_score_is_a_finite_number_or_absent_whatever_comes(metrics: dict[str, Any]) -> None:
    found = find_score({"metrics": metrics})
    assert (found.value is None) == (found.source is None)
    if found.value is not None:
        assert type(found.value) is float
        assert math.isfinite(found.value)


@given(PLACES, st.floats(allow_nan=False, allow_infinity=False))
def test_nothing_comes_before_a_mean_return(metrics: dict[str, Any], mean: float) -> None:
    assert score_rollout({"metrics": metrics | {"mean_return": mean}}) == mean
