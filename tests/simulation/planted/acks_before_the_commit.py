"""Settlement acks a message before it has committed what came of it."""

from contextlib import suppress
from typing import TYPE_CHECKING

from aex_models.events import Event
from tests.simulation.planted.plant import Handlers, Plant

if TYPE_CHECKING:
    from tests.simulation.services import Service


def _hasty(service: "Service", handlers: Handlers) -> Handlers:
    if service.name != "settlement":
        return handlers

    async def outcome_verified(event: Event) -> None:
        with suppress(Exception):  # the message is gone, and what it was to do is not done
            await handlers["outcome.verified"](event)

    return {**handlers, "outcome.verified": outcome_verified}


ACKS_BEFORE_THE_COMMIT = Plant("acks_before_the_commit", "a failure loses the message under way", handlers=_hasty)
