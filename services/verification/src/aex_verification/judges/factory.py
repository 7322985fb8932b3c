"""Construction of the configured reviewer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from aex_runtime.ids import Ids
from aex_runtime.settings import BadConfiguration
from aex_verification.settings import Settings

if TYPE_CHECKING:
    from aex_verification.judges.model_reviewer import ModelReviewer

_OPENAI = "https://api.openai.com/v1"
_CORRECTIONS = 2
"""Corrections of an unreadable answer in one conversation."""


def build_reviewer(
    settings: Settings, ids: Ids, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> "ModelReviewer | None":
    """Return the configured reviewer, an async context manager; None if no model is set. Sends no request.

    Raises `BadConfiguration` if a model is set without its key, or its libraries are not installed.
    """
    if settings.review_model is None:
        return None
    key = settings.review_api_key.get_secret_value() if settings.review_api_key else None
    if settings.review_base_url is None and key is None:
        raise BadConfiguration(
            "AEX_REVIEW_MODEL is set without AEX_REVIEW_API_KEY: set the key, or AEX_REVIEW_BASE_URL of a server "
            "that wants none"
        )
    try:
        from aex_verification.judges.chat import ModelChat, make_openai_model  # noqa: PLC0415 takes seconds: only where on
        from aex_verification.judges.model_reviewer import ModelReviewer, ReviewBounds  # noqa: PLC0415 10 ms, the same
    except ImportError as error:
        raise BadConfiguration(
            "AEX_REVIEW_MODEL is set, but the model libraries are not installed: install aex-verification[review], or "
            f"unset it ({error.name or error})"
        ) from error
    url = settings.review_base_url or _OPENAI
    model, client = make_openai_model(settings.review_model, url, key, settings.review_timeout_s)
    chat = ModelChat(model, settings.review_output, settings.review_max_output_tokens, _CORRECTIONS)
    bounds = ReviewBounds(
        timeout_s=settings.review_timeout_s,
        attempts=settings.review_attempts,
        concurrency=settings.review_concurrency,
        max_input_chars=settings.review_max_input_chars,
    )
    return ModelReviewer(settings.review_model, chat, bounds, ids, pause, client.close)
