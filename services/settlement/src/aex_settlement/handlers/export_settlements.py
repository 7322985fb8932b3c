"""Export of bookings: all that match, oldest first, up to the moment that it begins."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import structlog

from aex_models.audiences import Audience
from aex_models.settlement import LedgerTransaction, SettlementStatus
from aex_runtime.clock import epoch_micros
from aex_runtime.exports import ExportFile, merge_party_filters, stream_export
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.identity.principals import Principal
from aex_runtime.periods import Period, parse_period
from aex_settlement.deps import Deps
from aex_settlement.repository.ledger import contracts_with_status, settlement_transaction_pages
from aex_settlement.rules.export import FORMS, ExportFormat, columns_for
from aex_settlement.rules.projections import even_end
from aex_settlement.rules.settlements import own_filter

_log = structlog.get_logger("aex_settlement.export_settlements")


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """Filter of bookings; None matches any. `status` is the current one. Days are UTC and included."""

    agent_id: str | None = None
    consumer_id: str | None = None
    domain: str | None = None
    currency: str | None = None
    status: SettlementStatus | None = None
    first_day: str | None = None
    last_day: str | None = None


def export_settlements(
    deps: Deps, reader: Principal, query: ExportFilter, export_format: ExportFormat, limiter: ConcurrencyLimiter
) -> AsyncGenerator[bytes, None]:
    """Return the reader's bookings as a file, in pieces.

    Raises `InvalidRequest` for days that make no period. See `stream_export` for its limits.
    """
    # A correction, which is two bookings, is not divided.
    period = parse_period(query.first_day, query.last_day).part_before(even_end(epoch_micros(deps.clock.now())))
    form, columns = FORMS[export_format], columns_for(reader.role)

    def encode(transactions: Sequence[LedgerTransaction]) -> tuple[bytes, int]:
        return form.rows(columns, transactions), len(transactions)

    file = ExportFile(_pages(deps, reader, query, period), encode, export_format.value, form.head(columns))
    sees_all = reader.role is Audience.FINANCE
    return stream_export(_log, "settlements_exported", file, limiter, reader, sees_all=sees_all)


async def _pages(
    deps: Deps, reader: Principal, query: ExportFilter, period: Period
) -> AsyncGenerator[Sequence[LedgerTransaction], None]:
    parties = merge_party_filters(own_filter(reader), {"agent_id": query.agent_id, "consumer_id": query.consumer_id})
    if parties is None:
        return
    indexed = dict(list(parties.items())[:1])  # an index holds one party
    async with aclosing(settlement_transaction_pages(deps.store, indexed, period)) as pages:
        async for page in pages:
            matching = [each for each in page if _matches(each, query, parties)]
            if query.status is not None:
                contracts = [each.contract_id or "" for each in matching]
                of_status = await contracts_with_status(deps.store, contracts, query.status)
                matching = [each for each in matching if each.contract_id in of_status]
            if matching:
                yield matching


def _matches(transaction: LedgerTransaction, query: ExportFilter, parties: dict[str, str]) -> bool:
    booking = transaction.booking
    return (
        booking is not None
        and all(getattr(booking, name) == value for name, value in parties.items())
        and query.domain in (None, booking.domain)
        and query.currency in (None, transaction.postings[0].currency)
    )
