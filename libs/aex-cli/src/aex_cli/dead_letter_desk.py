"""Dead letters of several services, as the command line shows and replays them."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aex_runtime.bus.port import Bus
from aex_runtime.commandline.embedded import backends_of, has_store
from aex_runtime.deadletters import DeadLetter, DeadLetters, NoSuchDeadLetter
from aex_runtime.settings import RuntimeSettings

_PAGE = 200


@dataclass(frozen=True, slots=True)
class Shelved:
    """A dead letter and the service that gave up on it."""

    service: str
    letter: DeadLetter


async def list_letters(settings: RuntimeSettings, services: Sequence[str], limit: int) -> list[Shelved]:
    """Of each service the `limit` letters that died last, newest first."""
    found: list[Shelved] = []
    for service in services:
        if has_store(settings, service):
            async with _desk(settings, service) as (letters, _):
                found += [Shelved(service, letter) for letter in await _newest(letters, limit)]
    return sorted(found, key=lambda each: each.letter.last_at, reverse=True)


async def replay_one(settings: RuntimeSettings, services: Sequence[str], letter_id: str) -> str | None:
    """Replay the letter; the service that it was for, or None where no service has it."""
    for service in services:
        if has_store(settings, service):
            async with _desk(settings, service) as (letters, bus):
                if await _replayed(letters, bus, letter_id):
                    return service
    return None


async def replay_all(settings: RuntimeSettings, service: str, done: Callable[[str], None]) -> int:
    """Replay what the service had when this began, oldest death first; `done` is told each id. How many."""
    if not has_store(settings, service):
        return 0
    count = 0
    async with _desk(settings, service) as (letters, bus):
        # Gathered first: a letter that dies again at once comes back under its id.
        for letter in reversed(await _newest(letters, None)):
            if await _replayed(letters, bus, letter.id):
                done(letter.id)
                count += 1
    return count


@asynccontextmanager
async def _desk(settings: RuntimeSettings, service: str) -> AsyncIterator[tuple[DeadLetters, Bus]]:
    async with backends_of(settings, service) as backends:
        yield DeadLetters(service, backends.store, backends.clock), backends.bus


async def _replayed(letters: DeadLetters, bus: Bus, letter_id: str) -> bool:
    """Whether it was there to be replayed."""
    try:
        await letters.replay(letter_id, bus)
    except NoSuchDeadLetter:
        return False
    return True


async def _newest(letters: DeadLetters, limit: int | None) -> list[DeadLetter]:
    found: list[DeadLetter] = []
    after = None
    while limit is None or len(found) < limit:
        page = await letters.list(_PAGE if limit is None else min(_PAGE, limit - len(found)), after)
        found += page.items
        after = page.next_after
        if after is None:
            break
    return found
