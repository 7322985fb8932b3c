"""Export of settlement transactions as a file, oldest first, up to the moment at which it begins."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import structlog

from aex_models.audiences import Audience
from aex_models.settlement import LedgerTransaction, SettlementStatus
from aex_runtime.clock import epoch_micros
from aex_runtime.exports import ExportFile, merge_party_filters_unless_foreign, stream_export
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.identity.principals import Principal
from aex_runtime.periods import Period, parse_period
from aex_settlement.deps import Deps
from aex_settlement.repository.ledger import find_contracts_with_status, iterate_settlement_transaction_pages
from aex_settlement.rules.export import EXPORT_ENCODERS, ExportFormat, visible_columns
from aex_settlement.rules.projections import next_even_micros
from aex_settlement.rules.settlements import own_party_filter

_log = structlog.get_logger("aex_settlement.export_settlements")


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """Filter of the export; None matches any value. Days are UTC, and both are included."""

    agent_id: str | None = None
    consumer_id: str | None = None
    domain: str | None = None
    currency: str | None = None
    status: SettlementStatus | None = None
    """Current status of the contract's settlement."""
    first_day: str | None = None
    last_day: str | None = None


def export_settlements(
    deps: Deps, reader: Principal, query: ExportFilter, export_format: ExportFormat, limiter: ConcurrencyLimiter
) -> AsyncGenerator[bytes, None]:
    """Return the settlement transactions that the reader may see as a file, in pieces of bytes.

    Raises `InvalidRequest` for invalid days. `stream_export` describes the limits and the log event.
    """
    # A correction, which is two bookings, is not divided.
    period = parse_period(query.first_day, query.last_day).part_before(next_even_micros(epoch_micros(deps.clock.now())))
    encoder, columns = EXPORT_ENCODERS[export_format], visible_columns(reader.role)

    def encode(transactions: Sequence[LedgerTransaction]) -> tuple[bytes, int]:
        return encoder.rows(columns, transactions), len(transactions)

    file = ExportFile(_pages(deps, reader, query, period), encode, export_format.value, encoder.head(columns))
    sees_all = reader.role is Audience.FINANCE
    return stream_export(_log, "settlements_exported", file, limiter, reader, sees_all=sees_all)


async def _pages(
    deps: Deps, reader: Principal, query: ExportFilter, period: Period
) -> AsyncGenerator[Sequence[LedgerTransaction], None]:
    parties = merge_party_filters_unless_foreign(
        own_party_filter(reader), {"agent_id": query.agent_id, "consumer_id": query.consumer_id}
    )
    if parties is None:
        return
    indexed = dict(list(parties.items())[:1])  # an index holds one party
    async with aclosing(iterate_settlement_transaction_pages(deps.store, indexed, period)) as pages:
        async for page in pages:
            matching = [each for each in page if _matches(each, query, parties)]
            if query.status is not None:
                contracts = [each.contract_id or "" for each in matching]
                of_status = await find_contracts_with_status(deps.store, contracts, query.status)
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
