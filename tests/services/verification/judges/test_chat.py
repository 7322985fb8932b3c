import json
from collections.abc import Callable

import pytest
from pydantic_ai import ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from aex_models.science import Recommendation
from aex_outcomes.science.peer_review_prompt import Prompt
from aex_verification.judges.chat import Form, ModelChat, parse_plain_review
from aex_verification.judges.model_reviewer import Unreadable
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
    def __init__(self, *answers: Answer) -> None:
        self.calls: list[tuple[list[ModelMessage], AgentInfo]] = []
        self._answers = answers

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.calls.append((messages, info))
        return self._answers[min(len(self.calls), len(self._answers)) - 1](info)

    def chat(self, form: Form = "tool", corrections: int = 2) -> ModelChat:
        return ModelChat(FunctionModel(self), form, max_output_tokens=500, corrections=corrections)


@pytest.mark.parametrize(
    ("form", "answer"),
    [
        ("tool", call(GOOD)),
        ("tool", text(GOOD)),
        ("text", text(f" {GOOD}\n")),
        ("text", text(f"```\n{GOOD}\n```\n")),
    ],
)
async def test_review_is_a_function_call_or_plain_json(form: Form, answer: Answer) -> None:
    talk = Talk(answer)
    answered = await talk.chat(form).request_review(PROMPT)
    assert answered.review.recommendation is Recommendation.ACCEPT
    assert answered.review.confidence == 0.97
    assert len(talk.calls) == 1


async def test_model_receives_prompt_and_output_bounds() -> None:
    talk = Talk(call(GOOD), text(GOOD))
    await talk.chat().request_review(PROMPT)
    messages, info = talk.calls[0]
    assert "The material." in str(messages[0].parts)
    assert info.instructions == "Review it."
    assert info.model_settings == {"max_tokens": 500}
    assert [tool.name for tool in info.output_tools] == ["review"]
    await talk.chat("text").request_review(PROMPT)
    _, info = talk.calls[1]
    assert info.output_tools == []
    assert '"outcome_verdict"' in str(info.instructions)


@pytest.mark.parametrize(
    "first",
    [
        text(GOOD[:-20]),
        text('{"verdict": "ok"}'),
        call('{"confidence": 7}'),
        call("{"),
        call(GOOD, name="another_function"),
        text(""),
    ],
)
async def test_unreadable_answer_may_be_corrected(first: Answer) -> None:
    talk = Talk(first, call(REJECTING))
    assert (await talk.chat().request_review(PROMPT)).review.recommendation is Recommendation.REJECT
    assert len(talk.calls) == 2


@pytest.mark.parametrize("answer", [text("garbage"), call("{")])
@pytest.mark.parametrize("corrections", [0, 2])
async def test_corrections_are_bounded(answer: Answer, corrections: int) -> None:
    talk = Talk(answer)
    with pytest.raises(Unreadable):
        await talk.chat(corrections=corrections).request_review(PROMPT)
    assert len(talk.calls) == corrections + 1


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
        parse_plain_review(content)


def test_correction_names_the_wrong_fields() -> None:
    with pytest.raises(ModelRetry, match="confidence: less_than_equal; outcome_verdict: enum"):
        parse_plain_review(json.dumps(ACCEPTING | {"confidence": 7, "outcome_verdict": "fine"}))
