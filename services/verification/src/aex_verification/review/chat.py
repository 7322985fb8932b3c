"""A language model, asked through pydantic-ai. Imported only where a reviewer is configured: it takes seconds."""

import json
import logging
import re
from collections.abc import Iterator
from typing import Literal

from openai import APIResponseValidationError, APIStatusError, AsyncOpenAI
from pydantic import ValidationError
from pydantic_ai import Agent, ModelRetry, TextOutput, ToolOutput, UsageLimits
from pydantic_ai import exceptions as failures
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings

from aex_outcomes.science.review.prompt import Prompt
from aex_verification.review.asking import Answer, NoReview, Unanswered, Unreadable
from aex_verification.review.bounded_http import AnswerTooLarge, bounded_client
from aex_verification.review.wire import SaidReview

Form = Literal["tool", "text"]
_WRAPPED = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)

_SETTINGS: tuple[tuple[type[failures.ModelAPIError], str], ...] = (
    (failures.ModelAuthenticationError, "AEX_REVIEW_API_KEY"),
    (failures.ModelQuotaExceededError, "AEX_REVIEW_API_KEY"),
    (failures.ModelNotFoundError, "AEX_REVIEW_MODEL or AEX_REVIEW_BASE_URL"),
    (failures.ModelContextWindowExceededError, "AEX_REVIEW_MAX_INPUT_CHARS"),
    (failures.ModelRequestRejectedError, "AEX_REVIEW_MODEL, AEX_REVIEW_OUTPUT or AEX_REVIEW_MAX_OUTPUT_TOKENS"),
)
"""What an operator looks at, by the kind of refusal: to ask again would change nothing. The first that fits counts."""

_NO_JSON = (json.JSONDecodeError, UnicodeDecodeError, APIResponseValidationError)
_BAD_REQUEST = 400


def openai_model(name: str, base_url: str, api_key: str | None, timeout_s: float) -> tuple[Model, AsyncOpenAI]:
    """A model behind an OpenAI-compatible server, and the client to be closed in the end."""
    for talkative in ("openai", "httpx2"):  # OPENAI_LOG=debug would have them write out what candidates say
        logging.getLogger(talkative).setLevel(logging.WARNING)
    client = AsyncOpenAI(
        base_url=base_url,
        api_key=api_key or "none",  # a server of one's own may want none; the environment's is for others
        max_retries=0,
        timeout=timeout_s,
        http_client=bounded_client(timeout_s),
    )
    return OpenAIChatModel(name, provider=OpenAICompatibleProvider("reviewer", openai_client=client)), client


class ModelChat:
    """One model, asked for reviews."""

    def __init__(self, model: Model, form: Form, max_output_tokens: int, corrections: int) -> None:
        """`corrections`: how often, in one conversation, the model may put right an answer that cannot be read.

        `form` is how the model is to answer. `tool`: by a function call, which most servers know; plain JSON is read
        too. `text`: by plain JSON alone, for servers and models that know no function calls.
        """
        plain = TextOutput(read_plainly)
        self._limits = UsageLimits(request_limit=corrections + 1)
        self._schema = f"\n\nAnswer with one JSON object of this schema and nothing else:\n{_schema()}"
        self._form = form
        self._agent: Agent[None, SaidReview] = Agent(
            model,
            name="peer-reviewer",
            output_type=[plain] if form == "text" else [ToolOutput(SaidReview, name="review"), plain],
            model_settings=ModelSettings(max_tokens=max_output_tokens),
            retries={"tools": corrections, "output": corrections},
        )

    async def ask(self, prompt: Prompt) -> Answer:
        """The model's review. Raises `Unanswered` and `Unreadable`."""
        schema = self._schema if self._form == "text" else ""
        try:
            ran = await self._agent.run(
                prompt.material, instructions=prompt.instructions + schema, usage_limits=self._limits
            )
        except failures.ModelAPIError as error:
            raise _translated(error) from None  # its message may quote the prompt
        except (failures.AgentRunError, UnicodeError) as error:
            raise Unreadable(type(error).__name__) from None
        usage = ran.usage
        return Answer(ran.output.as_review(), usage.input_tokens, usage.output_tokens)


def read_plainly(text: str) -> SaidReview:
    """A review from plain content: one JSON object, at most wrapped in one code block, and nothing beside it.

    To look for JSON inside of prose would find what a model quotes, and a candidate may have planted just that.
    """
    bare = text.strip()
    wrapped = _WRAPPED.fullmatch(bare)
    try:
        return SaidReview.model_validate_json(wrapped[1] if wrapped else bare)
    except ValidationError as error:
        wrong = sorted({f"{'.'.join(map(str, each['loc'])) or 'answer'}: {each['type']}" for each in error.errors()})
        raise ModelRetry(f"Answer with the JSON object of the review alone. Wrong: {'; '.join(wrong[:10])}") from error


def _schema() -> str:
    return json.dumps(SaidReview.model_json_schema())


def _translated(error: failures.ModelAPIError) -> NoReview:
    chain = list(_causes(error))
    if any(isinstance(each, AnswerTooLarge) for each in chain):
        return Unreadable("AnswerTooLarge")
    if any(isinstance(each, _NO_JSON) for each in chain):
        return Unreadable("NotJson", again=True)  # a proxy's page, perhaps: the model itself never sends such
    status = next((each.status_code for each in chain if isinstance(each, failures.ModelHTTPError | APIStatusError)), 0)
    kind = type(error).__name__.lstrip("_") + (f" {status}" if status else "")
    setting = next((told for refused, told in _SETTINGS if isinstance(error, refused)), None)
    if setting is None and 0 < status < _BAD_REQUEST:
        setting = "AEX_REVIEW_BASE_URL"  # a redirect, which is not followed
    return Unanswered(kind, after_s=error.retry_after or 0.0, setting=setting)


def _causes(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__
