"""Requests to a language model through pydantic-ai, over an HTTP client with bounded answers.

Imported only if a reviewer is configured, because the import takes seconds.
"""

import json
import logging
import re
from collections.abc import AsyncIterator, Iterator
from typing import Literal

import httpx2
from openai import APIResponseValidationError, APIStatusError, AsyncOpenAI
from pydantic import ValidationError
from pydantic_ai import Agent, ModelRetry, TextOutput, ToolOutput, UsageLimits
from pydantic_ai import exceptions as failures
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings

from aex_outcomes.science.peer_review_prompt import Prompt
from aex_verification.judges.model_reviewer import NoReview, ReviewAnswer, Unanswered, Unreadable
from aex_verification.judges.payload import ReviewPayload

MAX_ANSWER_BYTES = 1_000_000
"""Bytes of an answer; a review is far shorter."""
Form = Literal["tool", "text"]
_CODE_BLOCK = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)
_SETTINGS: tuple[tuple[type[failures.ModelAPIError], str], ...] = (
    (failures.ModelAuthenticationError, "AEX_REVIEW_API_KEY"),
    (failures.ModelQuotaExceededError, "AEX_REVIEW_API_KEY"),
    (failures.ModelNotFoundError, "AEX_REVIEW_MODEL or AEX_REVIEW_BASE_URL"),
    (failures.ModelContextWindowExceededError, "AEX_REVIEW_MAX_INPUT_CHARS"),
    (failures.ModelRequestRejectedError, "AEX_REVIEW_MODEL, AEX_REVIEW_OUTPUT or AEX_REVIEW_MAX_OUTPUT_TOKENS"),
)
"""Settings that an operator should check, by the kind of refusal; the first match counts."""
_NO_JSON = (json.JSONDecodeError, UnicodeDecodeError, APIResponseValidationError)
_BAD_REQUEST = 400


class AnswerTooLarge(httpx2.TransportError):
    """Error for an answer that is too long, or compressed although the request excluded that."""


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        bytes_left = MAX_ANSWER_BYTES
        async for chunk in self._stream:
            bytes_left -= len(chunk)
            if bytes_left < 0:
                raise AnswerTooLarge("too many bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound_response(response: httpx2.Response) -> None:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise AnswerTooLarge("compressed")  # a few bytes may expand to any number
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream)


def make_bounded_client(timeout_s: float) -> httpx2.AsyncClient:
    """Return an HTTP client with bounded answers.

    It follows no redirect, so that the key reaches only the configured server.
    """
    return httpx2.AsyncClient(
        timeout=timeout_s,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_bound_response]},
    )


def make_openai_model(name: str, base_url: str, api_key: str | None, timeout_s: float) -> tuple[Model, AsyncOpenAI]:
    """Return a model behind an OpenAI-compatible server, and its client, which the caller must close.

    Logging of the libraries is limited to warnings, because they could log candidates.
    """
    for name_of_logger in ("openai", "httpx2"):  # OPENAI_LOG=debug would have them log candidates
        logging.getLogger(name_of_logger).setLevel(logging.WARNING)
    client = AsyncOpenAI(
        base_url=base_url,
        api_key=api_key or "none",  # an own server may need none; the environment's key is for others
        max_retries=0,
        timeout=timeout_s,
        http_client=make_bounded_client(timeout_s),
    )
    return OpenAIChatModel(name, provider=OpenAICompatibleProvider("reviewer", openai_client=client)), client


class ModelChat:
    """Client that requests reviews from one model, with corrections of unreadable answers."""

    def __init__(self, model: Model, form: Form, max_output_tokens: int, corrections: int) -> None:
        """Create a client that lets the model correct an unreadable answer up to `corrections` times.

        With `form` `tool` an answer is a function call or plain JSON. With `text` it is plain JSON, for models without
        function calls.
        """
        plain = TextOutput(parse_plain_review)
        self._limits = UsageLimits(request_limit=corrections + 1)
        schema = json.dumps(ReviewPayload.model_json_schema())
        self._schema = f"\n\nAnswer with one JSON object of this schema and nothing else:\n{schema}"
        self._form = form
        self._agent: Agent[None, ReviewPayload] = Agent(
            model,
            name="peer-reviewer",
            output_type=[plain] if form == "text" else [ToolOutput(ReviewPayload, name="review"), plain],
            model_settings=ModelSettings(max_tokens=max_output_tokens),
            retries={"tools": corrections, "output": corrections},
        )

    async def request_review(self, prompt: Prompt) -> ReviewAnswer:
        """Return the model's review, after corrections if necessary. Raises `Unanswered` and `Unreadable`."""
        schema = self._schema if self._form == "text" else ""
        try:
            instructions = prompt.instructions + schema
            run = await self._agent.run(prompt.material, instructions=instructions, usage_limits=self._limits)
        except failures.ModelAPIError as error:
            raise _translate(error) from None  # its message may quote the prompt
        except (failures.AgentRunError, UnicodeError) as error:
            raise Unreadable(type(error).__name__) from None
        usage = run.usage
        return ReviewAnswer(run.output.to_stored_review(), usage.input_tokens, usage.output_tokens)


def parse_plain_review(text: str) -> ReviewPayload:
    """Return the review in a text that is one JSON object, or one code block with it.

    JSON inside of prose is not read, because a model may quote what a candidate planted. Raises `ModelRetry`, which
    asks the model for a correction.
    """
    content = text.strip()
    block = _CODE_BLOCK.fullmatch(content)
    try:
        return ReviewPayload.model_validate_json(block[1] if block else content)
    except ValidationError as error:
        problems = sorted({f"{'.'.join(map(str, each['loc'])) or 'answer'}: {each['type']}" for each in error.errors()})
        listed = "; ".join(problems[:10])
        raise ModelRetry(f"Answer with the JSON object of the review alone. Wrong: {listed}") from error


def _translate(error: failures.ModelAPIError) -> NoReview:
    chain = list(_causes(error))
    if any(isinstance(each, AnswerTooLarge) for each in chain):
        return Unreadable("AnswerTooLarge")
    if any(isinstance(each, _NO_JSON) for each in chain):
        return Unreadable("NotJson", retryable=True)  # perhaps a proxy's page: the model itself sends none
    status = next((each.status_code for each in chain if isinstance(each, failures.ModelHTTPError | APIStatusError)), 0)
    kind = type(error).__name__.lstrip("_") + (f" {status}" if status else "")
    setting = next((name for kind_of_error, name in _SETTINGS if isinstance(error, kind_of_error)), None)
    if setting is None and 0 < status < _BAD_REQUEST:
        setting = "AEX_REVIEW_BASE_URL"  # a redirect, which is not followed
    return Unanswered(kind, after_s=error.retry_after or 0.0, setting=setting)


def _causes(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__
