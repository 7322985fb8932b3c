import math
import warnings
from fractions import Fraction
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.rollout import RolloutResponse
from aex_outcomes import score_or_zero, score_rollout
from aex_outcomes.rollouts import (
    ALLOWANCE,
    DEPRECATED,
    RolloutRecount,
    ScoreSource,
    correctly_rounded_mean,
    correctly_rounded_sum,
    find_score,
    recount_rollout,
)
from tests.libs.outcomes.rollout_samples import a_rollout, an_episode

LEFT_OUT: dict[str, Any] = {"steps": []}
NOTHING = RolloutRecount(None, None, None, None)


def counted(*episodes: dict[str, Any], **metrics: Any) -> RolloutRecount:
    return recount_rollout(RolloutResponse.model_validate(a_rollout(*episodes, **metrics)))


def test_returns_mean_and_steps_are_those_of_the_steps() -> None:
    assert counted(an_episode(0.5, 0.25), an_episode(1.0)) == RolloutRecount((0.75, 1.0), 0.875, 3, consistent=True)


def test_steps_without_a_reward_bring_none_beside_one_that_does() -> None:
    assert counted(an_episode(None, None, 1.0)) == RolloutRecount((1.0,), 1.0, 3, consistent=True)


@pytest.mark.parametrize("episodes", [[], [an_episode(length=3, **LEFT_OUT)], [an_episode()]])
def test_without_any_step_nothing_is_reported(episodes: list[dict[str, Any]]) -> None:
    assert counted(*episodes, episode_returns=[1.0] * len(episodes), mean_return=1.0, num_steps=3) == NOTHING


def test_without_any_reward_the_number_of_steps_alone_is_reported_and_proves_nothing() -> None:
    assert counted(an_episode(None, None), mean_return=9.0) == RolloutRecount(None, None, 2, consistent=None)
    assert counted(an_episode(None, None), num_steps=3).consistent is False


def test_an_episode_with_steps_were_left_out_leaves_the_mean_unknown() -> None:
    left_out = an_episode(length=2, **LEFT_OUT)
    rest: dict[str, Any] = {"mean_return": 1.5, "num_steps": 3}
    assert counted(an_episode(1.0), left_out, episode_returns=[1.0, 2.0], **rest) == NOTHING
    assert counted(an_episode(1.0), left_out, episode_returns=[1.1, 2.0], **rest).consistent is False


def test_an_episode_of_no_steps_returned_nothing() -> None:
    assert counted(an_episode(1.0), an_episode()) == RolloutRecount((1.0, 0.0), 0.5, 1, consistent=True)
    assert counted(an_episode(1.0), an_episode(), episode_returns=[1.0, 5.0]).consistent is False


@pytest.mark.parametrize(
    "lie",
    [
        {"episode_returns": [0.5, 1.0]},
        {"episode_returns": [1.0, 0.75]},
        {"episode_returns": [0.75]},
        {"episode_returns": [0.75, 1.0, 0.875]},
        {"episode_returns": []},
        {"mean_return": 11.17},
        {"mean_return": 0.886},
        {"num_steps": 4},
        {"num_episodes": 3},
    ],
)
def test_a_figure_that_differs_makes_it_inconsistent(lie: dict[str, Any]) -> None:
    found = counted(an_episode(0.5, 0.25), an_episode(1.0), **lie)
    assert found == RolloutRecount((0.75, 1.0), 0.875, 3, consistent=False)


def test_an_episode_that_is_longer_or_shorter_than_it_says_is_inconsistent() -> None:
    assert counted(an_episode(1.0, length=2), num_steps=1).consistent is False


def test_rewards_added_up_in_single_precision_are_consistent() -> None:
    rewards = numpy.full(10_000, 0.1, dtype=numpy.float32)
    total = numpy.float32(0)
    for each in rewards:
        total += each
    naive = float(total)
    assert abs(naive - 1_000) > 0.05
    assert counted(an_episode(*[0.1] * 10_000), episode_returns=[naive], mean_return=naive).consistent is True
    assert counted(an_episode(*[0.1] * 10_000), episode_returns=[988.5], mean_return=988.5).consistent is False


@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_rewards_that_cancel_out_may_be_added_up_in_single_precision(seed: int) -> None:
    drawn = numpy.random.default_rng(seed).normal(0, 1, 500).astype(numpy.float32)
    rewards = numpy.concatenate([drawn, numpy.sort(-drawn)])
    total = numpy.float32(0)
    for each in rewards:
        total += each
    naive = float(total)
    exact = [float(each) for each in rewards]
    assert naive != math.fsum(exact)
    assert counted(an_episode(*exact), episode_returns=[naive], mean_return=naive).consistent is True


@pytest.mark.parametrize(
    ("steps", "claim", "consistent"),
    [
        ((1.0, 1.0), 2.02, True),
        ((1.0, 1.0), 2.03, False),
        ((1.234,), 1.2, True),
        ((1.26,), 1.2, False),
        ((0.123,), 0.12, True),
        ((0.123,), 0.1, False),
        ((12.4,), 12, True),
        ((12.6,), 12, False),
        ((5.4,), 5, False),
        ((-1.0,), 1.0, False),
        ((1.0,), 0.0, False),
    ],
)
def test_a_figure_is_held_as_a_claim_is(steps: tuple[float, ...], claim: float, consistent: bool) -> None:
    assert counted(an_episode(*steps), episode_returns=[claim], mean_return=claim).consistent is consistent


def test_over_an_exact_zero_only_what_arithmetic_loses_is_consistent() -> None:
    for steps, claim, consistent in (
        ((1.0, -1.0), ALLOWANCE, True),
        ((1.0, -1.0), 3e-6, False),
        ((1.0, -1.0), 0.01, False),
        ((0.0, 0.0), 1e-12, False),
        ((0.0, 0.0), 0.0, True),
    ):
        assert counted(an_episode(*steps), episode_returns=[claim], mean_return=claim).consistent is consistent


def test_rewards_beyond_all_doubles_bear_nothing_out() -> None:
    huge = 1.5e308
    found = counted(an_episode(huge, huge), episode_returns=[huge], mean_return=huge)
    assert found == RolloutRecount(None, None, 2, consistent=False)
    both = counted(an_episode(huge, huge), an_episode(-huge, -huge), episode_returns=[0, 0], mean_return=0)
    assert both.consistent is False
    back = counted(an_episode(huge, huge, -huge, -huge), episode_returns=[0.0], mean_return=0.0)
    assert back == RolloutRecount((0.0,), 0.0, 4, consistent=True)


REWARDS = st.floats(-1e6, 1e6)
BEYOND = 2**1024 - 2**970
"""From here on the nearest double is infinity."""


@given(st.lists(st.lists(REWARDS, min_size=1, max_size=8), min_size=1, max_size=6))
def test_what_is_summed_naively_is_consistent_and_recomputed_to_the_last_digit(episodes: list[list[float]]) -> None:
    found = counted(*(an_episode(*each) for each in episodes))
    assert found.consistent is True
    assert found.episode_returns == tuple(float(sum(map(Fraction, each))) for each in episodes)
    assert found.num_steps == sum(map(len, episodes))


@given(st.lists(REWARDS, min_size=1, max_size=8), st.sampled_from([-1, 1]), st.floats(1.01, 1e6))
def test_no_claim_beyond_the_tolerance_is_consistent(rewards: list[float], sign: int, times: float) -> None:
    allowance, total = ALLOWANCE * math.fsum(map(abs, rewards)), math.fsum(rewards)
    claim = total + sign * (max(allowance, abs(total) / 100) * times + 0.51)  # no whole number rounds from so far
    assert counted(an_episode(*rewards), episode_returns=[claim]).consistent is False


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12))
def test_a_sum_is_the_nearest_double_and_a_mean_always_one(values: list[float]) -> None:
    exact = sum(map(Fraction, values))
    nearest = math.inf if exact >= BEYOND else -math.inf if exact <= -BEYOND else float(exact)
    assert correctly_rounded_sum(values) == nearest
    mean = correctly_rounded_mean(values)
    assert min(values) - abs(min(values)) * 1e-15 <= mean <= max(values) + abs(max(values)) * 1e-15


def test_mean_of_no_value_is_refused() -> None:
    with pytest.raises(ValueError, match="no value"):
        correctly_rounded_mean([])


MEAN, CORRECT, RETURNS, OLD = ScoreSource
FULL: dict[str, Any] = {
    "mean_return": 0.7,
    "details": {"correct": True},
    "episode_returns": [0.2, 0.4],
    "outcome_score": 0.9,
}
NO_NUMBERS: list[Any] = [None, True, False, math.nan, math.inf, -math.inf, "0.5", "", [], [0.5], {}, 10**400, 2**53 + 1]
"""Values that are no score; the last two are no doubles."""
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
def test_the_first_position_that_holds_a_score_decides(
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


def test_the_deprecated_field_warns_the_caller() -> None:
    with pytest.warns(DeprecationWarning, match=r"outcome_score is deprecated: write metrics\.mean_return") as caught:
        assert score_rollout({"metrics": {"outcome_score": 0.5}}) == 0.5
    assert caught[0].filename == __file__


@pytest.mark.parametrize("payload", [None, 1.0, "rollout", [], {}, {"metrics": None}, {"metrics": [0.5]}, object()])
def test_what_is_no_rollout_has_no_score_and_raises_nothing(payload: Any) -> None:
    assert score_rollout(payload) is None
    assert score_or_zero(payload) == 0.0


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
POINTERS = st.fixed_dictionaries(
    {},
    optional={
        "mean_return": JSON,
        "details": JSON | st.fixed_dictionaries({"correct": JSON}),
        "episode_returns": JSON | st.lists(st.floats()),
        "outcome_score": JSON,
    },
)


@given(POINTERS)
def test_a_score_is_a_finite_number_or_absent_whatever_comes(metrics: dict[str, Any]) -> None:
    found = find_score({"metrics": metrics})
    assert (found.value is None) == (found.source is None)
    if found.value is not None:
        assert type(found.value) is float
        assert math.isfinite(found.value)
