"""A client that repeats unanswered requests under one idempotency key."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from aex_runtime.bus.consumer import OUTAGES
from aex_runtime.errors import DomainError, RateLimited
from aex_runtime.http.idempotency import Effect, IdempotentRequest
from tests.simulation.faults.fate import Crash
from tests.simulation.promises.promise import require_promise
from tests.simulation.promises.seen import Answer

if TYPE_CHECKING:
    from tests.simulation.services import Service
    from tests.simulation.world import World

A = TypeVar("A")
Ask = Callable[[IdempotentRequest], Awaitable[A]]
_TIMEOUT = 10
"""After so many tries in vain whatever was away is there again, for a while at least."""
_TRIES = 100


async def retry_until_answered(world: "World", service: "Service", kind: str | None, ask: Ask[A]) -> A | None:
    """Request with one key until there is an answer; return None for a refusal.

    Requests without `kind` are not counted.
    """
    world.keys += 1
    key = IdempotentRequest("simulator", f"key-{world.keys}", "same-body")
    try:
        answer = await _retry(world, service, ask, key)
    except DomainError as refusal:
        world.trace.append(refusal.code)
        return None
    if kind is not None:
        world.seen.answers.append(Answer(kind, service.name, ask, key, _effect(answer).resource_id))
    return answer


async def repeat_a_request(world: "World") -> None:
    """Repeat an old request, or send another one under its key."""
    if not world.seen.answers:
        return
    old = world.dice.choice(world.seen.answers)
    service = world.suite.named(old.service)
    if world.dice.random() < 0.5:
        effect = _effect(await _retry(world, service, old.ask, old.key))
        same = effect.is_replay and effect.resource_id == old.resource_id
        require_promise(same, "one key has one effect", f"a repeat of {old.kind} gave {effect}, not {old.resource_id}")
        return
    try:
        await _retry(world, service, old.ask, replace(old.key, body_digest="another-body"))
    except DomainError as refusal:
        refused = refusal.code == "idempotency_key_reused"
        require_promise(refused, "one key has one effect", f"another body for {old.kind} was refused as {refusal.code}")
    else:
        require_promise(False, "one key has one effect", f"another body for {old.kind} was taken under its key")


async def _retry(world: "World", service: "Service", ask: Ask[A], key: IdempotentRequest) -> A:
    """Repeat the request until it is answered. Raises `DomainError` for a permanent refusal."""
    for tries in range(_TRIES):
        if tries % _TIMEOUT == _TIMEOUT - 1:
            world.suite.environment.fate.away.clear()
        try:
            with service.process.inside():
                return await ask(key)
        except RateLimited:
            raise
        except (Crash, *OUTAGES) as failure:
            world.trace.append(type(failure).__name__)
        except DomainError as refusal:
            if refusal.code != "idempotency_in_flight":
                raise
            await asyncio.sleep(0.001)  # in virtual time: the one under way is done by then
    raise AssertionError(f"{_TRIES} failures in a row")


def _effect(answer: Any) -> Effect:
    """Return the effect; some requests answer more than that."""
    effect = answer[0] if isinstance(answer, tuple) else answer
    assert isinstance(effect, Effect)
    return effect
