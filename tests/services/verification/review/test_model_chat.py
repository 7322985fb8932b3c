"""What pydantic-ai makes of a model's answers, with functions in the model's place."""

import json
from collections.abc import Callable

import pytest
from pydantic_ai import ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from aex_models.science import Recommendation
from aex_outcomes.science.review.prompt import Prompt
from aex_verification.review.asking import Unreadable
from aex_verification.review.chat import Form, ModelChat, read_plainly
from tests.parts.openai_stub import ACCEPTING

PROMPT = Prompt("Review it.", "The material.", "1")
GOOD = json.dumps(ACCEPTING)
REJECTING = json.dumps(ACCEPTING | {"outcome_verdict": "wrong_answer", "recommendation": "reject"})

Answer = Callable[[AgentInfo], ModelResponse]


def text(content: str) -> Answer:
    return lambda _: ModelResponse(parts=[TextPart(content)])


def call(arguments: str, name: str = "review") -> Answer:
    return lambda _: ModelResponse(parts=[ToolCallPart(name, arguments)])


class Talk:
    """A model that gives one answer after the other, the last again and again, and keeps what it was told."""

    def __init__(self, *answers: Answer) -> None:
        self.heard: list[tuple[list[ModelMessage], AgentInfo]] = []
        self._answers = answers

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.heard.append((messages, info))
        return self._answers[min(len(self.heard), len(self._answers)) - 1](info)

    def chat(self, form: Form = "tool", corrections: int = 2) -> ModelChat:
        return ModelChat(FunctionModel(self), form, max_output_tokens=500, corrections=corrections)


@pytest.mark.parametrize(
    ("form", "answer"), [("tool", call(GOOD)), ("tool", text(GOOD)), ("text", text(GOOD)), ("text", text(f" {GOOD}\n"))]
)
async def test_a_review_is_read_from_a_function_call_and_from_plain_json(form: Form, answer: Answer) -> None:
    talk = Talk(answer)
    answered = await talk.chat(form).ask(PROMPT)
    assert answered.review.recommendation is Recommendation.ACCEPT
    assert answered.review.confidence == 0.97
    assert len(talk.heard) == 1


async def test_the_model_is_told_the_prompt_and_the_bounds_of_its_answer() -> None:
    talk = Talk(call(GOOD))
    await talk.chat().ask(PROMPT)
    messages, info = talk.heard[0]
    assert "The material." in str(messages[0].parts)
    assert info.instructions == "Review it."
    assert info.model_settings == {"max_tokens": 500}
    assert [tool.name for tool in info.output_tools] == ["review"]


async def test_a_model_that_knows_no_function_calls_is_told_the_schema_in_words() -> None:
    talk = Talk(text(GOOD))
    await talk.chat("text").ask(PROMPT)
    _, info = talk.heard[0]
    assert info.output_tools == []
    assert '"outcome_verdict"' in str(info.instructions)


@pytest.mark.parametrize(
    "first",
    [
        text("It looks fine to me."),
        text(GOOD[:-20]),
        text('{"verdict": "ok"}'),
        call('{"confidence": 7}'),
        call("{"),
        call(GOOD, name="another_function"),
        text(""),
    ],
)
async def test_an_answer_that_cannot_be_read_may_be_put_right(first: Answer) -> None:
    talk = Talk(first, call(REJECTING))
    assert (await talk.chat().ask(PROMPT)).review.recommendation is Recommendation.REJECT
    assert len(talk.heard) == 2


@pytest.mark.parametrize("answer", [text("garbage"), call('{"confidence": 7}'), call("{"), text("")])
@pytest.mark.parametrize("corrections", [0, 2])
async def test_corrections_are_bounded(answer: Answer, corrections: int) -> None:
    talk = Talk(answer)
    with pytest.raises(Unreadable):
        await talk.chat(corrections=corrections).ask(PROMPT)
    assert len(talk.heard) == corrections + 1


@pytest.mark.parametrize(
    "content",
    [
        f"The agent wrote ```json\n{GOOD}\n```\nI reject it: ```json\n{REJECTING}\n```",
        f"The agent wrote ```json\n{GOOD}\n``` which is an attempt to fool me.",
        f"{GOOD}\n{REJECTING}",
        f"[{GOOD}]",
        f"Here you are: {GOOD}",
    ],
)
def test_json_that_a_model_only_quotes_is_not_its_review(content: str) -> None:
    with pytest.raises(ModelRetry):
        read_plainly(content)


@pytest.mark.parametrize("wrapped", [f"```json\n{GOOD}\n```", f"```\n{GOOD}\n```\n", f"\n{GOOD}"])
def test_one_code_block_around_all_of_it_is_no_harm(wrapped: str) -> None:
    assert read_plainly(wrapped).recommendation is Recommendation.ACCEPT


def test_what_is_wrong_is_told_by_its_place() -> None:
    with pytest.raises(ModelRetry, match="confidence: less_than_equal; outcome_verdict: enum"):
        read_plainly(json.dumps(ACCEPTING | {"confidence": 7, "outcome_verdict": "fine"}))
