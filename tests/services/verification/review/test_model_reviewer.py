"""The reviewer's bounds, with something in the model's place that answers as it is told."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import chain, repeat

import pytest
from structlog.testing import capture_logs

from aex_models.science import ReviewFailure
from aex_outcomes.science.review.prompt import Prompt
from aex_runtime.ids import SeededIds
from aex_verification.review.asking import Answer, Unanswered, Unreadable
from aex_verification.review.model_reviewer import Bounds, ModelReviewer
from tests.parts.reviewing import accepting
from tests.services.verification.review.briefs import SECRETS, brief

BOUNDS = Bounds(timeout_s=5, attempts=3, at_once=2, max_input_chars=8_000)
ANSWER = Answer(accepting(), input_tokens=900, output_tokens=80)


class Scripted:
    """Gives one answer after the other; the last stays. `waits`: until then nobody is answered."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self.prompts: list[Prompt] = []
        self.under_way = 0
        self.most = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self._answers: Iterator[Answer | Exception] = chain(answers, repeat(answers[-1]))

    async def ask(self, prompt: Prompt) -> Answer:
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


class Pauses:
    """Does not sleep, and keeps for how long it was asked to."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def reviewer(
    asks: Scripted, pauses: Callable[[], Pauses] = Pauses, bounds: Bounds = BOUNDS
) -> tuple[ModelReviewer, Pauses]:
    paused = pauses()
    return ModelReviewer("a-model", asks, bounds, SeededIds(1), paused), paused


async def test_a_review_comes_back_with_the_model_and_the_prompts_version() -> None:
    asks = Scripted(ANSWER)
    asked, _ = reviewer(asks)
    reviewed = await asked.review(brief())
    assert reviewed.review == accepting()
    assert reviewed.failure is None
    assert reviewed.reviewer.model == "a-model"
    assert reviewed.reviewer.prompt_version == asks.prompts[0].version


async def test_each_prompt_has_a_nonce_of_its_own() -> None:
    asks = Scripted(ANSWER)
    asked, _ = reviewer(asks)
    for _ in range(2):
        await asked.review(brief())
    assert asks.prompts[0].material != asks.prompts[1].material


async def test_a_server_that_comes_back_is_asked_again_after_growing_pauses() -> None:
    asked, pauses = reviewer(Scripted(Unanswered("503"), Unanswered("503"), ANSWER))
    with capture_logs() as logs:
        reviewed = await asked.review(brief())
    assert reviewed.review is not None
    first, second = pauses.seconds
    assert 0.5 <= first <= 1
    assert 1 <= second <= 2
    assert [each["event"] for each in logs] == ["reviewer_asked_again", "reviewer_asked_again", "reviewed"]


async def test_a_server_that_stays_away_is_asked_so_often_and_no_more() -> None:
    asks = Scripted(Unanswered("ConnectionError"))
    asked, pauses = reviewer(asks)
    with capture_logs() as logs:
        reviewed = await asked.review(brief())
    assert reviewed.failure is ReviewFailure.UNREACHABLE
    assert reviewed.detail == "ConnectionError"
    assert len(asks.prompts) == 3
    assert len(pauses.seconds) == 2
    assert (logs[-1]["event"], logs[-1]["log_level"]) == ("reviewer_unreachable", "warning")


async def test_a_refusal_is_not_repeated_and_names_the_setting_to_look_at() -> None:
    asks = Scripted(Unanswered("401", setting="AEX_REVIEW_API_KEY"))
    asked, _ = reviewer(asks)
    with capture_logs() as logs:
        reviewed = await asked.review(brief())
    assert reviewed.failure is ReviewFailure.UNREACHABLE
    assert len(asks.prompts) == 1
    assert logs[-1]["log_level"] == "error"
    assert logs[-1]["look_at"] == "AEX_REVIEW_API_KEY"


@pytest.mark.parametrize(("after_s", "tries"), [(0.0, 3), (7.0, 3), (600.0, 1)])
async def test_a_server_says_when_to_come_back_within_reason(after_s: float, tries: int) -> None:
    asks = Scripted(Unanswered("429", after_s=after_s))
    asked, pauses = reviewer(asks)
    await asked.review(brief())
    assert len(asks.prompts) == tries
    assert all(each >= after_s for each in pauses.seconds)


async def test_what_cannot_be_read_is_not_asked_for_again() -> None:
    asks = Scripted(Unreadable("UnexpectedModelBehavior"))
    asked, _ = reviewer(asks)
    reviewed = await asked.review(brief())
    assert reviewed.failure is ReviewFailure.UNPARSABLE
    assert len(asks.prompts) == 1


async def test_a_page_in_the_place_of_an_answer_is_asked_about_again_and_then_unreadable() -> None:
    asks = Scripted(Unreadable("NotJson", again=True))
    asked, _ = reviewer(asks)
    reviewed = await asked.review(brief())
    assert reviewed.failure is ReviewFailure.UNPARSABLE
    assert len(asks.prompts) == 3


async def test_a_model_that_never_answers_costs_its_time_and_no_more() -> None:
    asks = Scripted(ANSWER)
    asks.may_answer.clear()
    asked, _ = reviewer(asks, bounds=Bounds(timeout_s=0.02, attempts=2, at_once=1, max_input_chars=8_000))
    reviewed = await asked.review(brief())
    assert reviewed.failure is ReviewFailure.UNREACHABLE
    assert reviewed.detail == "TimeoutError"
    assert asks.under_way == 0


async def test_no_more_are_asked_at_once_than_may_be() -> None:
    asks = Scripted(ANSWER)
    asks.may_answer.clear()
    asked, _ = reviewer(asks)
    async with asyncio.TaskGroup() as group:
        under_way = [group.create_task(asked.review(brief())) for _ in range(6)]
        await asyncio.sleep(0.01)
        asks.may_answer.set()
    assert asks.most == BOUNDS.at_once
    assert all(each.result().review for each in under_way)


@pytest.mark.parametrize("answer", [ANSWER, Unanswered("503"), Unreadable("x")])
async def test_no_log_line_holds_what_was_shown_or_said(answer: Answer | Exception) -> None:
    asked, _ = reviewer(Scripted(answer))
    with capture_logs() as logs:
        await asked.review(brief(sees_expected=True))
    told = str(logs)
    assert not [each for each in (*SECRETS, "in order") if each in told]


async def test_what_the_model_stands_on_is_closed_with_it() -> None:
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    async with ModelReviewer("a-model", Scripted(ANSWER), BOUNDS, SeededIds(1), close=close):
        assert closed == []
    assert closed == [True]
