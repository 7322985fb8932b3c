"""Export bookings: all that match, a page in memory at a time, up to the moment that it begins."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import structlog

from aex_models.audiences import Audience
from aex_models.settlement import LedgerTransaction, SettlementStatus
from aex_runtime.clock import epoch_micros
from aex_runtime.http.turnstile import Turnstile
from aex_runtime.identity.principal import Principal
from aex_runtime.periods import Period, parse_period
from aex_settlement.deps import Deps
from aex_settlement.repository.bookings import booking_pages, contracts_in
from aex_settlement.rules.export_columns import columns_for
from aex_settlement.rules.export_formats import FORMS, ExportFormat
from aex_settlement.rules.periods import even_end
from aex_settlement.rules.visibility import own_filter

_log = structlog.get_logger("aex_settlement.export_settlements")


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """Which bookings; None is any. `status`: that of the contract's settlement now. Days are UTC and included."""

    agent_id: str | None = None
    consumer_id: str | None = None
    domain: str | None = None
    currency: str | None = None
    status: SettlementStatus | None = None
    first_day: str | None = None
    last_day: str | None = None


async def export_settlements(
    deps: Deps, reader: Principal, wanted: ExportFilter, written: ExportFormat, turnstile: Turnstile
) -> AsyncGenerator[bytes, None]:
    """The reader's bookings, oldest first, written as a file piece by piece.

    Before the first piece raises `InvalidRequest` for days that make no period, `RateLimited` and
    `TemporarilyUnavailable` where too many exports run. Close it where you leave before its end.
    """
    period = _until(epoch_micros(deps.clock.now()), parse_period(wanted.first_day, wanted.last_day))
    form, columns = FORMS[written], columns_for(reader.role)
    with turnstile.passed(f"{reader.role.value}:{reader.id}", preferred=reader.role is Audience.FINANCE):
        rows, whole = 0, False
        waiting = form.head(columns)
        try:
            async with aclosing(_pages(deps, reader, wanted, period)) as pages:
                async for page in pages:
                    yield waiting + await asyncio.to_thread(form.rows, columns, page)
                    waiting, rows = b"", rows + len(page)
            if waiting:
                yield waiting
            whole = True
        finally:  # whatever ends it: the last row, a store that fails, a reader that is gone
            _log.info("settlements_exported" if whole else "export_broken_off", rows=rows, format=written.value)


def _until(now: int, period: Period) -> Period:
    """The period, as far as it has come: what is booked from now on is not waited for. Divides no correction."""
    return period.until(even_end(now))


async def _pages(
    deps: Deps, reader: Principal, wanted: ExportFilter, period: Period
) -> AsyncGenerator[Sequence[LedgerTransaction], None]:
    parties = {"agent_id": wanted.agent_id, "consumer_id": wanted.consumer_id}
    own = own_filter(reader)
    if any(parties[name] not in (None, value) for name, value in own.items()):
        return  # somebody else's rows: as if there were none
    named = {name: value for name, value in (parties | own).items() if value is not None}
    sought = dict(list(named.items())[:1])  # one is sought in the index, the other looked at
    async with aclosing(booking_pages(deps.store, sought, period)) as pages:
        async for page in pages:
            matching = [each for each in page if _matches(each, wanted, named)]
            if wanted.status is not None:
                contracts = [each.contract_id or "" for each in matching]
                of_status = await contracts_in(deps.store, contracts, wanted.status)
                matching = [each for each in matching if each.contract_id in of_status]
            if matching:
                yield matching


def _matches(transaction: LedgerTransaction, wanted: ExportFilter, named: dict[str, str]) -> bool:
    booking = transaction.booking
    return (
        booking is not None
        and all(getattr(booking, name) == value for name, value in named.items())
        and wanted.domain in (None, booking.domain)
        and wanted.currency in (None, transaction.postings[0].currency)
    )
