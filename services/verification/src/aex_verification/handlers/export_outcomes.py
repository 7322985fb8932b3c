"""Export of outcomes as lines of JSON, oldest first, up to the moment at which it begins."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import structlog

from aex_models.audiences import Audience
from aex_models.outcome import OutcomeRecord
from aex_runtime.clock import epoch_micros
from aex_runtime.exports import ExportFile, merge_party_filters_unless_foreign, stream_export
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.identity.principals import Principal
from aex_runtime.periods import Period, parse_period, period_bounds
from aex_runtime.store.port import Document, Fields, Query, Scalar, Store
from aex_verification.deps import Deps
from aex_verification.handlers.read import load_attempt_steps, own_party_filter
from aex_verification.repository import OUTCOMES
from aex_verification.rules.outcomes import AttemptStep, OutcomeFormat, format_outcome_line, format_rollout_line

_PAGE, _PAGE_OF_LARGE = 16, 2
"""Records read at once, and after a page of large ones; each may hold an output of megabytes."""
_LARGE = 1_048_576
"""Bytes of records that are decoded together; a larger record is decoded alone."""
_ORDER = "created_at"
_log = structlog.get_logger("aex_verification.export_outcomes")


@dataclass(frozen=True, slots=True)
class OutcomeFilter:
    """Filter of the export; None matches any value. Days are UTC, and both are included."""

    agent_id: str | None = None
    consumer_id: str | None = None
    domain: str | None = None
    first_day: str | None = None
    last_day: str | None = None


def export_outcomes(
    deps: Deps, reader: Principal, query: OutcomeFilter, export_format: OutcomeFormat, limiter: ConcurrencyLimiter
) -> AsyncGenerator[bytes, None]:
    """Return JSON lines, in pieces of bytes: an outcome record or a rollout for each visible outcome.

    An outcome is visible if it matches `query` and the reader may see it.
    Raises `InvalidRequest` for invalid days. `stream_export` describes the limits and the log event.
    """
    period = parse_period(query.first_day, query.last_day).part_before(epoch_micros(deps.clock.now()) + 1)

    def encode(documents: Sequence[Document]) -> tuple[bytes, int]:
        records = (OUTCOMES.decode(document).record for document in documents)
        lines = [format_outcome_line(each, reader.role) for each in records if query.domain in (None, each.domain)]
        return b"".join(lines), len(lines)

    def encode_rollouts(outcomes: Sequence[tuple[OutcomeRecord, Sequence[AttemptStep]]]) -> tuple[bytes, int]:
        lines = [line for each in outcomes if (line := format_rollout_line(*each, reader.role))]
        return b"".join(lines), len(lines)

    sees_all = reader.role in {Audience.FINANCE, Audience.OPERATOR}
    groups = _groups(deps.store, reader, query, period)
    if export_format is OutcomeFormat.JSONL:
        records = ExportFile(groups, encode, export_format.value)
        return stream_export(_log, "outcomes_exported", records, limiter, reader, sees_all=sees_all)
    rollouts = ExportFile(_with_attempts(deps, reader, groups, query.domain), encode_rollouts, export_format.value)
    return stream_export(_log, "outcomes_exported", rollouts, limiter, reader, sees_all=sees_all)


async def _with_attempts(
    deps: Deps, reader: Principal, groups: AsyncGenerator[Sequence[Document], None], domain: str | None
) -> AsyncGenerator[Sequence[tuple[OutcomeRecord, Sequence[AttemptStep]]], None]:
    """Yield the outcomes of a domain (None: of all) singly, with the attempts that the reader may see."""
    async with aclosing(groups) as pages:
        async for documents in pages:
            for document in documents:
                record = (await asyncio.to_thread(OUTCOMES.decode, document)).record
                if domain in (None, record.domain):
                    yield [(record, await load_attempt_steps(deps, reader, record))]


async def _groups(
    store: Store, reader: Principal, query: OutcomeFilter, period: Period
) -> AsyncGenerator[Sequence[Document], None]:
    """Yield the documents that match the parties, in groups that are decoded together."""
    requested = {"agent_id": query.agent_id, "consumer_id": query.consumer_id}
    parties = merge_party_filters_unless_foreign(own_party_filter(reader), requested)
    if parties is None:
        return
    indexed = dict(list(parties.items())[:1])  # an index holds one party
    async with aclosing(_pages(store, indexed, period)) as pages:
        async for page in pages:
            matching = [each for each in page if all(each.fields[name] == value for name, value in parties.items())]
            for group in _group_by_size(matching):
                yield group


async def _pages(store: Store, equal: Fields, period: Period) -> AsyncGenerator[Sequence[Document], None]:
    after: tuple[Scalar, str] | None = None
    limit = _PAGE
    while True:
        page = await store.query_page(
            Query(OUTCOMES.collection, equal, _ORDER, "asc", period_bounds(period), after, limit)
        )
        if page:
            yield page
        if len(page) < limit:
            return
        after = page[-1].fields[_ORDER], page[-1].key
        limit = _PAGE if sum(len(each.body) for each in page) <= _LARGE else _PAGE_OF_LARGE


def _group_by_size(documents: Sequence[Document]) -> Iterator[Sequence[Document]]:
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
