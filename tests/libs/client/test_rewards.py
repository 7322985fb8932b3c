import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from aex_cli.main import run_command_line
from aex_client import AexClient, Endpoints, InvalidRequest
from aex_client.rewards import Completion, OutcomeReward, read_completion_text
from tests.libs.client.platform import served
from tests.parts.verification import VerificationBench
from tests.services.verification.listening import application

ROUGE = {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.5, "weight": 3}
WORDS = {"metric": "word_count", "metric_type": "count", "comparison": "lte", "threshold": 4, "weight": 1}
LATENCY = {"metric": "platform_latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 10}
CRITERIA = {"aggregation": "weighted", "minimum_weighted_score": 0.5, "criteria": [ROUGE, WORDS]}
TEXTS = ["the cat sat", "the cat sat on the mat", "a dog", "", "  ", "naïve 猫 \u2028 text"]
REFERENCES = ["the cat sat", "the cat sat on the mat", "the cat", "x", "y", "naïve 猫 text"]


class ServedVerification:
    """The verification service in this process."""

    def app(self) -> Starlette:
        return application(VerificationBench())


@contextmanager
def reward_of(
    kind: str, criteria: Any = CRITERIA, score: str = "weighted_score", **shared: Any
) -> Iterator[OutcomeReward]:
    """Reward by the service, or offline."""
    if kind == "offline":
        reward = OutcomeReward(criteria, score, **shared)
        yield reward
        reward.close()
        return
    with served(ServedVerification()) as url, AexClient(Endpoints(*[url] * 4), "consumer:acme") as client:
        yield OutcomeReward(criteria, score, client, **shared)


def verified(folder: Path, capsys: pytest.CaptureFixture[str], text: str, evaluation: Any) -> float:
    """Return the weighted score that `aex verify` prints."""
    values = {"criteria": CRITERIA, "work": {"evaluation": evaluation}, "output": {"text": text}}
    for name, value in values.items():
        (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    options = [part for name in values for part in (f"--{name}", str(folder / f"{name}.json"))]
    run_command_line(["verify", *options, "--json"])
    return float(json.loads(capsys.readouterr().out)["weighted_score"])


@pytest.mark.parametrize("kind", ["service", "offline"])
def test_scores_of_texts_and_messages_equal_those_of_the_command(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = [
        verified(tmp_path, capsys, text, {"reference": reference})
        for text, reference in zip(TEXTS, REFERENCES, strict=True)
    ]
    prompts = ["Summarise"] * len(TEXTS)
    messages: list[Completion] = [[{"role": "assistant", "content": text}] for text in TEXTS]
    with reward_of(kind) as reward:
        texts = reward(prompts=prompts, completions=TEXTS, reference=REFERENCES, trainer_state=object(), label=[1])
        assert texts == expected
        assert reward(prompts, messages, reference=REFERENCES) == expected
    assert len(set(expected)) > 2


@pytest.mark.parametrize("kind", ["service", "offline"])
def test_indeterminate_verdict_is_none_and_a_shared_reference_is_replaced_by_a_column(kind: str) -> None:
    with reward_of(kind, {"criteria": [LATENCY, WORDS]}) as unknown:
        assert unknown(["p"], ["a"]) == [None]
    with reward_of(kind, evaluation={"reference": "the cat"}) as reward:
        assert reward(["p"] * 2, ["the cat", "a dog"], reference=[None, "a dog"]) == [1.0, 1.0]
        assert reward(["p"] * 2, ["the cat", "a dog"]) == [1.0, 0.25]


def test_score_may_be_success_or_a_metric() -> None:
    for score, expected in (("success", [1.0, 0.0]), ("word_count", [2.0, 2.0]), ("rougeL", [1.0, 0.0])):
        with reward_of("offline", score=score, evaluation={"reference": "the cat"}) as reward:
            assert reward(["p"] * 2, ["the cat", "a dog"]) == expected
            assert reward.__name__ == f"outcome_{score}"


def test_wrong_arguments_are_refused_before_anything_is_graded() -> None:
    with pytest.raises(ValueError, match="choose one of weighted_score, success, rougeL, word_count"):
        OutcomeReward(CRITERIA, "accuracy")
    with pytest.raises(InvalidRequest) as refused:
        OutcomeReward({"criteria": [{**ROUGE, "metric": "rougeX"}]})
    assert [each.path for each in refused.value.errors] == ["/success_criteria/criteria/0/metric"]
    with reward_of("offline") as reward:
        with pytest.raises(ValueError, match="reference has 1 values for 2 completions"):
            reward(["p"] * 2, ["a", "b"], reference=["a"])
        with pytest.raises(ValueError, match="give what all completions share as evaluation"):
            reward(["p"], ["a"], reference="a")


@pytest.mark.parametrize("kind", ["service", "offline"])
def test_invalid_column_raises_its_pointers_and_an_output_that_json_cannot_carry_is_none(kind: str) -> None:
    with reward_of(kind) as reward:
        with pytest.raises(InvalidRequest) as refused:
            reward(["p"], ["a"], reference=["a"], pattern=["(?=x)"])
        assert [each.path for each in refused.value.errors] == ["/evaluation/pattern"]
        assert reward(["p"] * 2, ["a \ud800", "a"], reference=["a", "a"]) == [None, 1.0]


def test_text_that_makes_no_output_meets_no_criterion() -> None:
    exact = {"metric": "has_required_fields", "metric_type": "boolean", "comparison": "eq", "threshold": True}
    shared: dict[str, Any] = {"evaluation": {"required_fields": ["a"]}, "build_output": json.loads}
    with reward_of("offline", {"criteria": [exact]}, **shared) as reward:
        assert reward(["p"] * 3, ['{"a": 1}', "{}", "no JSON"]) == [1.0, 0.0, 0.0]


def test_slow_metrics_run_in_workers_that_stay_alive() -> None:
    code = "def evaluate(input, output, metadata):\n    return len(output['text'])\n"
    own = {"metric": "custom.length", "metric_type": "custom", "comparison": "gte", "threshold": 2}
    shared = {"evaluation": {"custom_metrics": [{"name": "length", "code": code}]}}
    with reward_of("offline", {"criteria": [own]}, "custom.length", **shared) as reward:
        assert reward(["p"] * 3, ["abc", "a", "ab"]) == [3.0, 1.0, 2.0]
        assert reward(["p"], ["abcd"]) == [4.0]
        reward.close()  # a second time does nothing


async def test_offline_reward_may_be_called_where_an_event_loop_runs() -> None:
    reward = OutcomeReward(CRITERIA, evaluation={"reference": "the cat"})
    assert reward(["p"], ["the cat"]) == [1.0]


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        ("a", "a"),
        ([], ""),
        (
            [
                {"role": "assistant", "content": "a"},
                {"role": "tool", "content": "t"},
                {"role": "assistant", "content": "b"},
            ],
            "b",
        ),
        ([{"role": "assistant", "content": None, "tool_calls": []}], ""),
        ([{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}], "ab"),
        ([{"content": "a"}], "a"),
    ],
)
def test_text_of_a_completion_is_the_last_one_of_the_assistant(completion: Completion, text: str) -> None:
    assert read_completion_text(completion) == text
