"""A peer reviewer that asks a language model: bounded in time, in tries and in how many are asked at once."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Self

import structlog

from aex_models.backoff import Backoff
from aex_models.science import Reviewer, ReviewFailure
from aex_outcomes.science.review.port import ReviewBrief, Reviewed
from aex_outcomes.science.review.prompt import Prompt, render
from aex_runtime.ids import Ids
from aex_verification.review.asking import Answer, Asks, NoReview, Unanswered

_log = structlog.get_logger(__name__)
_BACKOFF = Backoff(first=timedelta(seconds=1), cap=timedelta(seconds=20))
_LONGEST_WAIT_S = 30.0
"""A server that asks for more is asked again by the contract's own timer."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is spent on one review."""

    timeout_s: float
    """Of each try."""
    attempts: int
    at_once: int
    """Reviews under way in this process; others wait."""
    max_input_chars: int


class ModelReviewer:
    """Implements `PeerReviewer`. Logs neither what it shows the model nor what the model says."""

    def __init__(
        self,
        model: str,
        asks: Asks,
        bounds: Bounds,
        ids: Ids,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`model`: its name, stored with each verdict. `close`: ends what `asks` stands on."""
        self._model, self._asks, self._bounds, self._ids, self._pause = model, asks, bounds, ids, pause
        self._places = asyncio.Semaphore(bounds.at_once)
        self._closing = AsyncExitStack()
        if close is not None:
            self._closing.push_async_callback(close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._closing.aclose()

    async def review(self, brief: ReviewBrief) -> Reviewed:
        """The model's review, or why there is none."""
        nonce = self._ids.salt()[:32]
        prompt = render(brief, nonce, self._bounds.max_input_chars)
        reviewer = Reviewer(model=self._model, prompt_version=prompt.version)
        try:
            async with self._places:
                answer = await self._asked(prompt)
        except NoReview as error:
            return self._none(reviewer, error)
        _log.info("reviewed", model=self._model, input_tokens=answer.input_tokens, output_tokens=answer.output_tokens)
        return Reviewed(reviewer, review=answer.review)

    def _none(self, reviewer: Reviewer, error: NoReview) -> Reviewed:
        if not isinstance(error, Unanswered):
            _log.warning("review_unparsable", model=self._model, kind=error.kind)
            return Reviewed(reviewer, failure=ReviewFailure.UNPARSABLE, detail=error.kind)
        if error.setting is None:
            _log.warning("reviewer_unreachable", model=self._model, kind=error.kind)
        else:
            _log.error("reviewer_refused", model=self._model, kind=error.kind, look_at=error.setting)
        return Reviewed(reviewer, failure=ReviewFailure.UNREACHABLE, detail=error.kind)

    async def _asked(self, prompt: Prompt) -> Answer:
        attempt = 1
        while True:
            try:
                return await self._once(prompt)
            except NoReview as error:
                pause_s = self._pause_s(error, attempt)
                if pause_s is None:
                    raise
                _log.info("reviewer_asked_again", kind=error.kind, attempt=attempt, pause_s=round(pause_s, 2))
                await self._pause(pause_s)
                attempt += 1

    async def _once(self, prompt: Prompt) -> Answer:
        try:
            async with asyncio.timeout(self._bounds.timeout_s):
                return await self._asks.ask(prompt)
        except TimeoutError as error:
            raise Unanswered("TimeoutError") from error

    def _pause_s(self, error: NoReview, attempt: int) -> float | None:
        """How long to wait after that many attempts; None: no more."""
        if not error.again or attempt >= self._bounds.attempts or error.after_s > _LONGEST_WAIT_S:
            return None
        return max(_BACKOFF.delay(attempt, self._ids.jitter()).total_seconds(), error.after_s)
