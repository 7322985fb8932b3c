import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models import RolloutResponse
from aex_models.audiences import Audience
from aex_models.contract import Terms
from aex_models.outcome import OutcomeRecord
from aex_models.rollout import parse_correlation_id
from aex_models.work import FeedbackLevel
from aex_outcomes import score_rollout
from aex_outcomes.rollouts import recount_rollout
from aex_verification.rules.outcomes import (
    MAX_TEXT,
    AttemptStep,
    format_outcome_line,
    format_rollout_line,
    is_paid_or_successful,
    make_attempt_step,
    make_rollout,
)
from tests.libs.models.results import a_result
from tests.services.settlement.outcomes import an_outcome, outcomes

FREE = Terms(cpc_rate=Decimal(0), fee_rate=Decimal("0.10"))
FAILED = a_result(contract_id="ctr_1", success=False)


@pytest.mark.parametrize(
    ("record", "readable"),
    [
        (None, False),
        (an_outcome(), True),
        (an_outcome(terms=FREE), True),
        (an_outcome(terms=FREE, verification_result=FAILED), False),
        (an_outcome(terms=FREE, verification_result=None), False),
        (an_outcome(verification_result=FAILED), True),
    ],
    ids=["open", "passed", "passed for nothing", "failed for nothing", "never judged", "failed and to be paid"],
)
def test_paid_candidate_is_readable(record: OutcomeRecord | None, readable: bool) -> None:
    assert is_paid_or_successful(record) is readable


def rollout(record: OutcomeRecord, audience: Audience = Audience.OPERATOR) -> dict[str, Any] | None:
    line = format_rollout_line(record, (), audience)
    return None if line is None else dict(json.loads(line))


@given(
    outcomes(),
    st.floats(0, 1),
    st.integers(0, 10),
    st.sampled_from(Audience),
    st.sampled_from(FeedbackLevel),
    st.none() | st.text() | st.from_regex(r"https?://[ -~]{0,30}"),
)
def test_rollout_scores_the_final_weighted_score(
    record: OutcomeRecord, score: float, attempts: int, audience: Audience, level: FeedbackLevel, url: str | None
) -> None:
    judged = record.verification_result
    result = judged and judged.model_copy(update={"weighted_score": score})
    changes = {"verification_result": result, "attempts_used": attempts, "disclosure": level}
    reported = rollout(record.model_copy(update={**changes, "execution_metadata": {"inference_url": url}}), audience)
    if result is None or (audience is Audience.AGENT and level is FeedbackLevel.NONE):
        assert reported is None
        return
    assert reported is not None
    read = RolloutResponse.model_validate(reported)
    assert score_rollout(reported) == score_rollout(read) == score
    assert recount_rollout(read).consistent is True
    (episode,) = read.trajectories
    assert len(episode.steps) == episode.length == max(1, attempts)
    assert [step.reward for step in episode.steps] == [None] * (episode.length - 1) + [score]
    assert [step.done for step in episode.steps] == [False] * (episode.length - 1) + [True]


OWN = "aex://contracts/ctr_1?cid=ctr_1"


@pytest.mark.parametrize(
    ("named", "reported"),
    [
        ("https://host/v1?cid=trace_1", "https://host/v1?cid=trace_1"),
        ("https://host/v1", "https://host/v1?cid=ctr_1"),
        ("https://host/v1?model=a&b=%20#part", "https://host/v1?model=a&b=%20&cid=ctr_1#part"),
        ("https://host/v1?cid=", "https://host/v1?cid=&cid=ctr_1"),
        ("https://user:secret@host/v1", OWN),
        ("javascript:alert(1)", OWN),
        ("file:///etc/passwd", OWN),
        ("https://", OWN),
        ("https://[half/", OWN),
        ("https://host/a b", OWN),
        ("https://host/\r\nX-Header: 1", OWN),
        ("https://h\u00f6st/", OWN),
        ("https://host/" + "x" * 3_000, OWN),
        (None, OWN),
        (5, OWN),
        (["https://host"], OWN),
    ],
)
def test_inference_url_is_the_agents_web_address(named: Any, reported: str) -> None:
    row = rollout(an_outcome(execution_metadata={"inference_url": named}))
    assert row is not None
    assert row["trajectories"][0]["inference_url"] == reported
    assert parse_correlation_id(reported) is not None


def test_lines_are_ascii_and_one_each() -> None:
    record = an_outcome(domain="caf\u00e9\u2028", final_result={"text": "a\nb\u2028c\u0085d"})
    steps = [AttemptStep(text="a\nb\u2028")]
    for line in (format_outcome_line(record, Audience.CONSUMER), format_rollout_line(record, steps, Audience.CONSUMER)):
        assert line is not None
        assert line.isascii()
        assert line.count(b"\n") == 1


def test_step_has_the_feedback_that_the_attempt_followed() -> None:
    attempts = [
        make_attempt_step(
            {
                "candidate": {"output": {"text": "one"}},
                "feedback": "more words",
                "verdict": "rejected",
                "result": {"weighted_score": 0.25},
            }
        ),
        make_attempt_step(
            {"candidate": {"output": {"words": ["a"]}}, "verdict": "passed", "result": {"weighted_score": 1.0}}
        ),
    ]
    outcome = json.loads(format_outcome_line(an_outcome(attempts_used=2), Audience.OPERATOR))
    made = make_rollout(outcome, attempts)
    assert made is not None
    first, second = (step.model_dump(exclude_none=True) for step in made.trajectories[0].steps)
    assert first == {
        "obs": {"attempt": 1},
        "action": {"text": "one"},
        "done": False,
        "info": {"verdict": "rejected", "weighted_score": 0.25, "feedback": "more words"},
    }
    assert second["obs"] == {"attempt": 2, "feedback": "more words"}
    assert (second["action"], second["info"]) == (
        {"text": '{"words":["a"]}'},
        {"verdict": "passed", "weighted_score": 1.0},
    )
    assert (second["reward"], second["done"]) == (made.metrics.mean_return, True)


def test_long_text_is_cut_and_marked() -> None:
    step = make_attempt_step({"candidate": {"output": "x" * (MAX_TEXT + 1)}})
    assert (len(step.text or ""), step.is_cut) == (MAX_TEXT, True)
    assert make_attempt_step({"candidate": {"output": "x" * MAX_TEXT}}).is_cut is False


@given(st.integers(0, 5), st.integers(0, 5))
def test_rollout_has_as_many_steps_as_counted_attempts(used: int, known: int) -> None:
    outcome = json.loads(format_outcome_line(an_outcome(attempts_used=used), Audience.OPERATOR))
    made = make_rollout(outcome, [AttemptStep(text=f"{number}") for number in range(known)])
    assert made is not None
    assert len(made.trajectories[0].steps) == made.metrics.num_steps == max(1, used)
    assert [step.reward is None for step in made.trajectories[0].steps[:-1]] == [True] * (max(1, used) - 1)
