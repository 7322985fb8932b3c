"""Peer reviewer that uses a language model, with limits of time, attempts and concurrency."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Protocol, Self

import structlog

from aex_models.backoff import Backoff
from aex_models.science import Reviewer, ReviewFailure, ScientificReview
from aex_outcomes.science.peer_review_port import ReviewBrief, Reviewed
from aex_outcomes.science.peer_review_prompt import Prompt, render_review_prompt
from aex_runtime.ids import Ids

_log = structlog.get_logger(__name__)
_BACKOFF = Backoff(first=timedelta(seconds=1), cap=timedelta(seconds=20))
_LONGEST_WAIT_S = 30.0
"""Longest pause before a retry; if the server demands more, the contract's timer retries later."""


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """Review by the model, with its cost in tokens."""

    review: ScientificReview
    input_tokens: int
    output_tokens: int


class NoReview(Exception):
    """Error of a call that returned no review.

    `kind` quotes nothing of the answer. A `retryable` call may be repeated after `after_s` seconds.
    """

    def __init__(self, kind: str, *, retryable: bool, after_s: float = 0.0) -> None:
        super().__init__(kind)
        self.kind, self.retryable, self.after_s = kind, retryable, after_s


class Unreadable(NoReview):
    """Error for an answer from which no review can be read."""

    def __init__(self, kind: str, *, retryable: bool = False) -> None:
        super().__init__(kind, retryable=retryable)


class Unanswered(NoReview):
    """Error of a call without an answer.

    If `setting` is given, an operator should check that setting, and a retry does not help.
    """

    def __init__(self, kind: str, *, after_s: float = 0.0, setting: str | None = None) -> None:
        super().__init__(kind, retryable=setting is None, after_s=after_s)
        self.setting = setting


class ReviewModel(Protocol):
    """Language model that writes reviews."""

    async def request_review(self, prompt: Prompt) -> ReviewAnswer:
        """Make one call and return the review. Raises only `Unanswered` and `Unreadable`."""


@dataclass(frozen=True, slots=True)
class ReviewBounds:
    """Limits of a reviewer."""

    timeout_s: float
    """Time limit of each attempt."""
    attempts: int
    concurrency: int
    """Reviews in progress at once in this process; further ones wait."""
    max_input_chars: int


class ModelReviewer:
    """Peer reviewer that uses a language model. It logs neither prompts nor answers."""

    def __init__(
        self,
        model: str,
        chat: ReviewModel,
        bounds: ReviewBounds,
        ids: Ids,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Create a reviewer.

        `model` is the name that is stored with each verdict. `close` closes the client of `chat`.
        """
        self._model, self._chat, self._bounds, self._ids, self._pause = model, chat, bounds, ids, pause
        self._slots, self._close = asyncio.Semaphore(bounds.concurrency), close

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._close is not None:
            await self._close()

    async def review(self, brief: ReviewBrief) -> Reviewed:
        """Return the model's review, or the reason why there is none; failed calls are retried."""
        prompt = render_review_prompt(brief, self._ids.salt()[:32], self._bounds.max_input_chars)
        reviewer = Reviewer(model=self._model, prompt_version=prompt.version)
        try:
            async with self._slots:
                answer = await self._request(prompt)
        except NoReview as error:
            return self._report_failure(reviewer, error)
        _log.info("reviewed", model=self._model, input_tokens=answer.input_tokens, output_tokens=answer.output_tokens)
        return Reviewed(reviewer, review=answer.review)

    def _report_failure(self, reviewer: Reviewer, error: NoReview) -> Reviewed:
        if not isinstance(error, Unanswered):
            _log.warning("review_unparsable", model=self._model, kind=error.kind)
            return Reviewed(reviewer, failure=ReviewFailure.UNPARSABLE, detail=error.kind)
        if error.setting is None:
            _log.warning("reviewer_unreachable", model=self._model, kind=error.kind)
        else:
            _log.error("reviewer_refused", model=self._model, kind=error.kind, look_at=error.setting)
        return Reviewed(reviewer, failure=ReviewFailure.UNREACHABLE, detail=error.kind)

    async def _request(self, prompt: Prompt) -> ReviewAnswer:
        attempt = 0
        while True:
            attempt += 1
            try:
                async with asyncio.timeout(self._bounds.timeout_s):
                    return await self._chat.request_review(prompt)
            except (NoReview, TimeoutError) as error:
                failure = error if isinstance(error, NoReview) else Unanswered("TimeoutError")
            pause_s = self._pause_s(failure, attempt)
            if pause_s is None:
                raise failure
            _log.info("review_retried", kind=failure.kind, attempt=attempt, pause_s=round(pause_s, 2))
            await self._pause(pause_s)

    def _pause_s(self, error: NoReview, attempt: int) -> float | None:
        """Return the seconds before the next attempt; None if there is no further attempt."""
        if not error.retryable or attempt >= self._bounds.attempts or error.after_s > _LONGEST_WAIT_S:
            return None
        return max(_BACKOFF.delay(attempt, self._ids.jitter()).total_seconds(), error.after_s)
