import asyncio
from collections.abc import Iterator
from itertools import chain, repeat

import pytest
from structlog.testing import capture_logs

from aex_models.science import ReviewFailure
from aex_outcomes.science.peer_review_prompt import Prompt
from aex_runtime.ids import SeededIds
from aex_verification.judges.model_reviewer import ModelReviewer, ReviewAnswer, ReviewBounds, Unanswered, Unreadable
from tests.libs.runtime.http.sample import until
from tests.parts.reviewing import make_accepting_review
from tests.services.verification.judges.briefs import SECRETS, brief

BOUNDS = ReviewBounds(timeout_s=5, attempts=3, concurrency=2, max_input_chars=8_000)
ANSWER = ReviewAnswer(make_accepting_review(), input_tokens=900, output_tokens=80)


class Scripted:
    def __init__(self, *answers: ReviewAnswer | Exception) -> None:
        self.prompts: list[Prompt] = []
        self.under_way = 0
        self.most = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self._answers: Iterator[ReviewAnswer | Exception] = chain(answers, repeat(answers[-1]))

    async def request_review(self, prompt: Prompt) -> ReviewAnswer:
        self.prompts.append(prompt)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.may_answer.wait()
        finally:
            self.under_way -= 1
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


def reviewer(chat: Scripted, bounds: ReviewBounds = BOUNDS) -> tuple[ModelReviewer, list[float]]:
    """Return a reviewer, and the seconds of the pauses that it makes."""
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    return ModelReviewer("a-model", chat, bounds, SeededIds(1), pause), pauses


async def test_review_has_model_and_prompt_version() -> None:
    chat = Scripted(ANSWER)
    subject, _ = reviewer(chat)
    reviewed = await subject.review(brief())
    assert (reviewed.review, reviewed.failure) == (make_accepting_review(), None)
    assert (reviewed.reviewer.model, reviewed.reviewer.prompt_version) == ("a-model", chat.prompts[0].version)
    await subject.review(brief())
    assert chat.prompts[0].material != chat.prompts[1].material, "each has its own nonce"


async def test_retries_have_growing_pauses() -> None:
    subject, pauses = reviewer(Scripted(Unanswered("503"), Unanswered("503"), ANSWER))
    with capture_logs() as logs:
        assert (await subject.review(brief())).review is not None
    first, second = pauses
    assert 0.5 <= first <= 1 <= second <= 2
    assert [each["event"] for each in logs] == ["review_retried", "review_retried", "reviewed"]


@pytest.mark.parametrize(
    ("error", "calls", "level"),
    [
        (Unanswered("ConnectionError"), 3, "warning"),
        (Unanswered("401", setting="AEX_REVIEW_API_KEY"), 1, "error"),
    ],
)
async def test_attempts_are_bounded_and_a_refusal_names_its_setting(error: Unanswered, calls: int, level: str) -> None:
    chat = Scripted(error)
    subject, pauses = reviewer(chat)
    with capture_logs() as logs:
        reviewed = await subject.review(brief())
    assert (reviewed.failure, reviewed.detail) == (ReviewFailure.UNREACHABLE, error.kind)
    assert (len(chat.prompts), len(pauses)) == (calls, calls - 1)
    assert (logs[-1]["log_level"], logs[-1].get("look_at")) == (level, error.setting)


@pytest.mark.parametrize(("after_s", "tries"), [(0.0, 3), (7.0, 3), (600.0, 1)])
async def test_retry_after_is_kept_within_its_limit(after_s: float, tries: int) -> None:
    chat = Scripted(Unanswered("429", after_s=after_s))
    subject, pauses = reviewer(chat)
    await subject.review(brief())
    assert len(chat.prompts) == tries
    assert all(each >= after_s for each in pauses)


@pytest.mark.parametrize(("retryable", "calls"), [(False, 1), (True, 3)])
async def test_unreadable_answer_is_retried_where_a_proxy_sent_it(retryable: bool, calls: int) -> None:
    chat = Scripted(Unreadable("NotJson", retryable=retryable))
    subject, _ = reviewer(chat)
    assert (await subject.review(brief())).failure is ReviewFailure.UNPARSABLE
    assert len(chat.prompts) == calls


async def test_silent_model_is_unreachable_after_its_time() -> None:
    chat = Scripted(ANSWER)
    chat.may_answer.clear()
    subject, _ = reviewer(chat, bounds=ReviewBounds(timeout_s=0.02, attempts=2, concurrency=1, max_input_chars=8_000))
    reviewed = await subject.review(brief())
    assert reviewed.failure is ReviewFailure.UNREACHABLE
    assert reviewed.detail == "TimeoutError"
    assert chat.under_way == 0


async def test_concurrent_reviews_are_bounded() -> None:
    chat = Scripted(ANSWER)
    chat.may_answer.clear()
    subject, _ = reviewer(chat)
    async with asyncio.TaskGroup() as group:
        under_way = [group.create_task(subject.review(brief())) for _ in range(6)]
        await until(lambda: chat.under_way == BOUNDS.concurrency)
        chat.may_answer.set()
    assert chat.most == BOUNDS.concurrency
    assert all(each.result().review for each in under_way)


@pytest.mark.parametrize("answer", [ANSWER, Unanswered("503"), Unreadable("x")])
async def test_logs_hold_neither_prompt_nor_answer(answer: ReviewAnswer | Exception) -> None:
    subject, _ = reviewer(Scripted(answer))
    with capture_logs() as logs:
        await subject.review(brief(sees_expected=True))
    reported = str(logs)
    assert not [each for each in (*SECRETS, "in order") if each in reported]


async def test_client_is_closed_with_the_reviewer() -> None:
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    async with ModelReviewer("a-model", Scripted(ANSWER), BOUNDS, SeededIds(1), close=close):
        assert closed == []
    assert closed == [True]
