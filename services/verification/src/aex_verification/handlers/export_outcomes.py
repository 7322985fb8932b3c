"""Export outcomes: all that match, oldest first, up to the moment that it begins, a few in memory at a time."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import structlog

from aex_models.audiences import Audience
from aex_models.outcome import OutcomeRecord
from aex_runtime.clock import epoch_micros
from aex_runtime.http.turnstile import Turnstile
from aex_runtime.identity.principal import Principal
from aex_runtime.periods import Period, parse_period, within
from aex_runtime.store.port import Document, Fields, Query, Scalar, Store
from aex_verification.deps import Deps
from aex_verification.repository import OUTCOMES
from aex_verification.rules.outcome_formats import OutcomeFormat, outcome_line

_MOST, _LEAST = 16, 2
"""How many records are read at once, and after large ones: each may hold an output of megabytes."""
_LARGE = 1_048_576
"""Bytes of records that are decoded together, unless one of them is larger."""
_PIECE = 262_144
"""Bytes that a reader takes at once: it is let go where it takes nothing for long."""
_ORDER = "created_at"
_log = structlog.get_logger("aex_verification.export_outcomes")


@dataclass(frozen=True, slots=True)
class OutcomeFilter:
    """Which outcomes; None is any. Days are UTC and included."""

    agent_id: str | None = None
    consumer_id: str | None = None
    domain: str | None = None
    first_day: str | None = None
    last_day: str | None = None


async def export_outcomes(
    deps: Deps, reader: Principal, wanted: OutcomeFilter, written: OutcomeFormat, turnstile: Turnstile
) -> AsyncGenerator[bytes, None]:
    """The reader's outcomes as lines of JSON, piece by piece.

    Before the first piece raises `InvalidRequest` for days that make no period, `RateLimited` and
    `TemporarilyUnavailable` where too many exports run. Close it where you leave before its end.
    """
    period = parse_period(wanted.first_day, wanted.last_day).until(epoch_micros(deps.clock.now()) + 1)
    sees_all = reader.role in {Audience.FINANCE, Audience.OPERATOR}
    with turnstile.passed(f"{reader.role.value}:{reader.id}", preferred=sees_all):
        rows, whole = 0, False
        try:
            async with aclosing(_groups(deps.store, reader, wanted, period)) as groups:
                async for group in groups:
                    lines = await asyncio.to_thread(_lines, group, reader.role, wanted, written)
                    for piece in _pieces(lines):
                        yield piece
                    rows += len(lines)
            whole = True
        finally:  # whatever ends it: the last row, a store that fails, a reader that is gone
            _log.info("outcomes_exported" if whole else "export_broken_off", rows=rows, format=written.value)


async def _groups(
    store: Store, reader: Principal, wanted: OutcomeFilter, period: Period
) -> AsyncGenerator[Sequence[Document], None]:
    """The documents in question, as many as are decoded together."""
    parties = {"agent_id": wanted.agent_id, "consumer_id": wanted.consumer_id}
    own = {f"{reader.role.value}_id": reader.id} if reader.role in {Audience.AGENT, Audience.CONSUMER} else {}
    if any(parties[name] not in (None, value) for name, value in own.items()):
        return  # somebody else's outcomes: as if there were none
    named = own | {name: value for name, value in parties.items() if value is not None}
    sought = dict(list(named.items())[:1])  # one is sought in the index, the other looked at
    async with aclosing(_pages(store, sought, period)) as pages:
        async for page in pages:
            matching = [each for each in page if all(each.fields[name] == value for name, value in named.items())]
            for group in _grouped(matching):
                yield group


async def _pages(store: Store, equal: Fields, period: Period) -> AsyncGenerator[Sequence[Document], None]:
    after: tuple[Scalar, str] | None = None
    many = _MOST
    while True:
        found = await store.query(Query(OUTCOMES.collection, equal, _ORDER, "asc", within(period), after, many))
        if found:
            yield found
        if len(found) < many:
            return
        after = found[-1].fields[_ORDER], found[-1].key
        many = _MOST if sum(len(each.body) for each in found) <= _LARGE else _LEAST


def _grouped(documents: Sequence[Document]) -> Iterator[Sequence[Document]]:
    group: list[Document] = []
    size = 0
    for document in documents:
        if group and size + len(document.body) > _LARGE:
            yield group
            group, size = [], 0
        group.append(document)
        size += len(document.body)
    if group:
        yield group


def _lines(
    documents: Sequence[Document], audience: Audience, wanted: OutcomeFilter, written: OutcomeFormat
) -> list[bytes]:
    """Decoded and written one after the other."""
    records: Iterator[OutcomeRecord] = (OUTCOMES.decode(document).record for document in documents)
    lines = (outcome_line(record, audience, written) for record in records if wanted.domain in (None, record.domain))
    return [line for line in lines if line is not None]


def _pieces(lines: Sequence[bytes]) -> Iterator[bytes]:
    joined = memoryview(b"".join(lines))
    for start in range(0, len(joined), _PIECE):
        yield bytes(joined[start : start + _PIECE])
