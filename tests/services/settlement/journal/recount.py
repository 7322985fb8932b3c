from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

from aex_models.settlement import LedgerTransaction
from aex_runtime.store.port import Store
from aex_runtime.store.table import Table
from aex_settlement.repository.projections import (
    ACCOUNT_PAGES,
    BALANCES,
    DAYS,
    GENERATIONS,
    ROLLUPS,
    STATES,
    TABLES,
    building_watermark_key,
    read_projection_state,
)
from aex_settlement.rules.projections import Projection
from tests.services.settlement.journal.wholeness import ALL, Journal

DIMENSIONS = ("agent", "consumer", "domain")


async def check_projections(store: Store, journal: Journal, *, at_head: bool = True) -> None:
    for projection, tables in TABLES.items():
        state = await read_projection_state(store, projection)
        seq = state.seq if state else 0
        generation = state.generation if state else ""
        assert not at_head or seq == len(journal.batches), f"{projection} is at {seq}"
        expected = recount(journal, seq)
        for table in tables:
            found = plain(await _all(table, store, generation))
            assert found == sorted(expected[table.collection.name]), f"{table.collection.name} at {seq}"


async def check_gone(store: Store, projection: Projection, generation: str) -> None:
    for table in TABLES[projection]:
        assert not await _all(table, store, generation), f"{table.collection.name} still holds {generation}"
    assert await GENERATIONS.get(store, generation) is None
    assert await STATES.get(store, building_watermark_key(projection, generation)) is None


def recount(journal: Journal, seq: int) -> dict[str, list[Any]]:
    """Return what each table must hold after the first `seq` batches, as `plain` has it."""
    return {ROLLUPS.collection.name: _rollups(chain.from_iterable(journal.transactions[:seq])), **_books(journal, seq)}


def _rollups(transactions: Iterable[LedgerTransaction]) -> list[Any]:
    days: dict[tuple[str, ...], dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0] * 6))
    for each in transactions:
        counted = each.booking
        if counted is None:
            continue
        who = {"agent": counted.agent_id, "consumer": counted.consumer_id, "domain": counted.domain}
        day = each.occurred_at.date().isoformat()
        figures = (
            counted.count,
            counted.success_count,
            counted.cpc,
            counted.cpa_bonus,
            counted.cpa_penalty,
            counted.total,
        )
        for mask in range(8):
            kept = [name for position, name in enumerate(DIMENSIONS) if mask >> position & 1]
            group = ("+".join(kept), *(str(who[name] if name in kept else None) for name in DIMENSIONS))
            sums = days[*group, each.postings[0].currency, day[:7]][day]
            for position, figure in enumerate(figures):
                sums[position] += figure
    return [[*key, sorted([day, *sums] for day, sums in by_day.items())] for key, by_day in days.items()]


def _books(journal: Journal, seq: int) -> dict[str, list[Any]]:
    balances: dict[tuple[str, str], list[int]] = {}
    days: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    pages = []
    for batch, transactions in list(zip(journal.batches, journal.transactions, strict=True))[:seq]:
        lines: dict[tuple[str, str], list[list[Any]]] = defaultdict(list)
        for each in transactions:
            for posting in each.postings:
                line = [each.id, each.kind.value, posting.amount, each.occurred_at.isoformat(), each.reason]
                lines[posting.account, posting.currency].append(line)
        for position, posted in lines.items():
            opening = balances[position][0] if position in balances else 0
            closing = opening + sum(line[2] for line in posted)
            balances[position] = [closing, batch.seq]
            pages.append([*position, batch.seq, batch.sealed_at.isoformat(), opening, closing, posted])
            day = days[*position, batch.sealed_at.date().isoformat()]
            day[0] += sum(max(line[2], 0) for line in posted)
            day[1] -= sum(min(line[2], 0) for line in posted)
            day[2] = closing
    return {
        BALANCES.collection.name: [[*position, *held] for position, held in balances.items()],
        ACCOUNT_PAGES.collection.name: pages,
        DAYS.collection.name: [[*position, *held] for position, held in days.items()],
    }


async def _all(table: Table[Any], store: Store, generation: str) -> list[Any]:
    return [each.record for each in await table.find(store, {"generation": generation}, limit=ALL)]


def plain(records: Iterable[Any]) -> list[Any]:
    """Return each record as its key and its figures, sorted."""
    return sorted(_PLAIN[type(each).__name__](each) for each in records)


_PLAIN: Mapping[str, Callable[[Any], list[Any]]] = {
    "Rollup": lambda r: [
        r.view,
        str(r.agent),
        str(r.consumer),
        str(r.domain),
        r.currency,
        r.month,
        [list(day) for day in r.days],
    ],
    "Balance": lambda b: [b.account, b.currency, b.balance, b.seq],
    "DayBalance": lambda d: [d.account, d.currency, d.day, d.debits, d.credits, d.closing],
    "AccountPage": lambda s: [
        s.account,
        s.currency,
        s.seq,
        s.sealed_at.isoformat(),
        s.opening,
        s.closing,
        [[e.transaction_id, e.kind.value, e.amount, e.occurred_at.isoformat(), e.reason] for e in s.lines],
    ],
}
