import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from aex_models.science import OutcomeVerdict, ReviewFailure
from aex_outcomes.science.peer_review_port import Reviewed
from aex_runtime.ids import SeededIds
from aex_verification.judges.factory import build_reviewer
from aex_verification.judges.model_reviewer import ModelReviewer
from aex_verification.settings import Settings
from tests.parts.openai_stub import (
    ACCEPTING,
    ACCEPTS,
    GARBAGE,
    HANGS,
    Behaviour,
    OpenAIStub,
    Reply,
    reply_bytes,
    reply_error,
    reply_text,
    reply_tool_call,
    run_openai_stub,
)
from tests.services.verification.judges.briefs import SECRETS, brief

GOOD = json.dumps(ACCEPTING)


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with run_openai_stub() as running:
        yield running


async def _at_once(_seconds: float) -> None:
    """A pause that takes no time."""


@asynccontextmanager
async def asking(stub: OpenAIStub, **changed: Any) -> AsyncIterator[ModelReviewer]:
    settings = Settings(
        review_model="stub-1",
        review_base_url=stub.base_url,
        review_api_key="stub-key-that-no-log-may-hold",
        **({"review_attempts": 2, "review_timeout_s": 10.0} | changed),
    )
    reviewer = build_reviewer(settings, SeededIds(1), _at_once)
    assert reviewer is not None
    async with reviewer:
        yield reviewer


async def answered(stub: OpenAIStub, behaviour: Behaviour, **changed: Any) -> Reviewed:
    stub.set_behaviour(behaviour)
    async with asking(stub, **changed) as reviewer:
        return await reviewer.review(brief())


@pytest.mark.parametrize(
    ("behaviour", "form"),
    [
        (ACCEPTS, "tool"),
        (reply_text(f"```json\n{GOOD}\n```"), "text"),
        (reply_text(f"<think>Is it? {{}}</think>\n{GOOD}"), "text"),
    ],
)
async def test_review_arrives_in_either_form(stub: OpenAIStub, behaviour: Behaviour, form: str) -> None:
    reviewed = await answered(stub, behaviour, review_output=form)
    assert reviewed.review is not None
    assert reviewed.review.outcome_verdict is OutcomeVerdict.ANSWERS_QUESTION
    assert reviewed.review.reasoning == "Everything is in order."
    assert reviewed.reviewer.model == "stub-1"
    assert ("tools" in stub.requests[0].body) is (form == "tool")


async def test_server_receives_key_model_and_prompt(stub: OpenAIStub) -> None:
    async with asking(stub, review_max_output_tokens=321) as reviewer:
        await reviewer.review(brief())
        await reviewer.review(brief(sees_expected=True))
    request, allowed = stub.requests
    assert request.headers["authorization"] == "Bearer stub-key-that-no-log-may-hold"
    assert request.body["model"] == "stub-1"
    assert 321 in {request.body.get("max_tokens"), request.body.get("max_completion_tokens")}
    assert "CANDIDATE-TEXT" in request.prompt
    assert "peer reviewer" in request.prompt
    assert ["EXPECTED-OUTCOME" in json.dumps(each.body) for each in (request, allowed)] == [False, True]


HALF = GOOD[: len(GOOD) // 2]
NOT_A_COMPLETION = (
    b"<html>Welcome to the captive portal</html>",
    b"[]",
    b'{"choices": []}',
    b'{"choices": null}',
    b'{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0}]}',
    b'{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, '
    b'"finish_reason": "content_filter", "message": {"role": "assistant", "content": ""}}]}',
    b"",
    b"\xff\xfe\x00garbage",
)


@pytest.mark.parametrize(("form", "behaviour"), [("tool", reply_tool_call(HALF)), ("text", reply_text("null"))])
async def test_garbage_is_no_review(stub: OpenAIStub, behaviour: Behaviour, form: str) -> None:
    reviewed = await answered(stub, behaviour, review_output=form)
    assert reviewed.failure is ReviewFailure.UNPARSABLE
    assert len(stub.requests) == 3  # once, and two corrections


@pytest.mark.parametrize("body", NOT_A_COMPLETION)
async def test_invalid_completion_is_no_review(stub: OpenAIStub, body: bytes) -> None:
    reviewed = await answered(stub, reply_bytes(body))
    assert reviewed.failure is ReviewFailure.UNPARSABLE
    assert len(stub.requests) <= 3


@pytest.mark.parametrize(
    ("status", "headers", "calls"), [(500, {}, 2), (429, {}, 2), (408, {}, 2), (429, {"Retry_After": "600"}, 1)]
)
async def test_failing_server_is_retried_then_unreachable(
    stub: OpenAIStub, status: int, headers: dict[str, str], calls: int
) -> None:
    reviewed = await answered(stub, reply_error(status, **headers))
    assert reviewed.failure is ReviewFailure.UNREACHABLE
    assert str(status) in reviewed.detail
    assert len(stub.requests) == calls


@pytest.mark.parametrize(
    ("status", "setting"),
    [
        (401, "AEX_REVIEW_API_KEY"),
        (403, "AEX_REVIEW_API_KEY"),
        (404, "AEX_REVIEW_MODEL or AEX_REVIEW_BASE_URL"),
        (400, "AEX_REVIEW_OUTPUT"),
        (307, "AEX_REVIEW_BASE_URL"),
    ],
)
async def test_refusal_names_the_setting(stub: OpenAIStub, status: int, setting: str) -> None:
    with capture_logs() as logs:
        reviewed = await answered(stub, reply_error(status, Location="http://127.0.0.1:9/v1"))
    assert reviewed.failure is ReviewFailure.UNREACHABLE
    assert len(stub.requests) == 1
    assert logs[-1]["log_level"] == "error"
    assert setting in logs[-1]["look_at"]


async def test_hanging_server_is_unreachable_after_its_time(stub: OpenAIStub) -> None:
    reviewed = await answered(stub, HANGS, review_timeout_s=0.3, review_attempts=1)
    assert reviewed.failure is ReviewFailure.UNREACHABLE


@pytest.mark.parametrize(
    "behaviour",
    [reply_text("x" * 3_000_000), lambda _: Reply(b"\x1f\x8b", headers={"Content-Encoding": "gzip"})],
    ids=["oversized", "compressed"],
)
async def test_oversized_or_compressed_answer_is_not_read(stub: OpenAIStub, behaviour: Behaviour) -> None:
    reviewed = await answered(stub, behaviour)
    assert (reviewed.failure, reviewed.detail) == (ReviewFailure.UNPARSABLE, "AnswerTooLarge")
    assert [each.headers["accept-encoding"] for each in stub.requests] == ["identity"]


@pytest.mark.parametrize("behaviour", [ACCEPTS, GARBAGE, reply_error(401), reply_text("x" * 2_000_000)])
async def test_logs_hold_neither_prompt_nor_key(
    stub: OpenAIStub, behaviour: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    stub.set_behaviour(behaviour)
    logging.getLogger("openai").setLevel(logging.DEBUG)  # as OPENAI_LOG=debug does
    with capture_logs() as logs, caplog.at_level(logging.DEBUG):
        async with asking(stub, review_attempts=1) as reviewer:
            await reviewer.review(brief(sees_expected=True))
    reported = str(logs) + caplog.text
    assert not [each for each in SECRETS if each in reported]
