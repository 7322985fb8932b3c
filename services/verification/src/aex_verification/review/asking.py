"""Asking a model once: what comes of it, whatever library does the asking."""

from dataclasses import dataclass
from typing import Protocol

from aex_models.science import ScientificReview
from aex_outcomes.science.review.prompt import Prompt


@dataclass(frozen=True, slots=True)
class Answer:
    """A review that could be read, and what it cost."""

    review: ScientificReview
    input_tokens: int
    output_tokens: int


class NoReview(Exception):
    """There is none. `kind` says why and quotes nothing; `again`: whether it may help to ask again, after `after_s`."""

    def __init__(self, kind: str, *, again: bool, after_s: float = 0.0) -> None:
        super().__init__(kind)
        self.kind, self.again, self.after_s = kind, again, after_s


class Unreadable(NoReview):
    """There was an answer, and no review could be read from it."""

    def __init__(self, kind: str, *, again: bool = False) -> None:
        super().__init__(kind, again=again)


class Unanswered(NoReview):
    """No model answered. `setting`: what an operator looks at; to ask again would change nothing."""

    def __init__(self, kind: str, *, after_s: float = 0.0, setting: str | None = None) -> None:
        super().__init__(kind, again=setting is None, after_s=after_s)
        self.setting = setting


class Asks(Protocol):
    """Something that can be asked for a review."""

    async def ask(self, prompt: Prompt) -> Answer:
        """Ask once. Raises `Unanswered` or `Unreadable`, and nothing else for what a model or its server does."""
        ...
