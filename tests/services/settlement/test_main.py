"""The whole service, as it starts: events in from the bus, events out, dead letters kept."""

from decimal import Decimal
from pathlib import Path

from aex_runtime.blobs.factory import open_blobs
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import Outgoing
from aex_runtime.bus.wire import encode_event
from aex_runtime.clock import WallClock
from aex_runtime.deadletters import DeadLetters
from aex_runtime.ids import RandomIds
from aex_runtime.records import outbox_table
from aex_runtime.service import Backends
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import key_of
from aex_settlement.main import create_app
from aex_settlement.repository.journal import read_journal_head
from aex_settlement.repository.ledger import SETTLEMENTS
from aex_settlement.rules.export import COLUMNS
from aex_settlement.settings import Settings
from tests.libs.runtime.background import eventually_async
from tests.services.settlement.journal.wholeness import checked_journal
from tests.services.settlement.outcomes import an_event, an_outcome

ROOT = Path(__file__).parents[3]


async def test_the_service_settles_and_seals_what_the_bus_brings_and_keeps_what_it_refuses(tmp_path: Path) -> None:
    store, bus, clock = MemoryStore(), MemoryBus(), WallClock()
    app = create_app(Settings(data_dir=tmp_path), Backends(store, bus, open_blobs("memory:"), clock, RandomIds()))
    dead_letters = DeadLetters("settlement", store, clock)
    off = an_outcome("ctr_off").billing_impact.model_copy(update={"total": Decimal("9.99")})
    good, bad = an_event(an_outcome("ctr_1")), an_event(an_outcome("ctr_off", billing_impact=off))

    async def everything_is_dealt_with() -> bool:
        head = await read_journal_head(store)
        unpublished = await outbox_table("settlement").find(store, order="created_at")
        return head is not None and head.seq == 2 and not unpublished and await dead_letters.count() == 1

    async with app.router.lifespan_context(app):
        await bus.publish([Outgoing(each.type, encode_event(each)) for each in (good, bad, good)])
        await eventually_async(everything_is_dealt_with)
    (letter,) = (await dead_letters.list(limit=10)).items
    assert (letter.topic, letter.event_id, letter.subject) == ("outcome.verified", bad.id, "ctr_off")
    assert letter.reason.startswith("billing_impact_disagrees")
    assert [each.contract_id for each in (await checked_journal(store)).sealed] == ["ctr_1"]
    assert await store.get(SETTLEMENTS.collection, key_of("ctr_off")) is None


def test_nothing_is_opened_before_the_service_starts(tmp_path: Path) -> None:
    create_app(Settings(data_dir=tmp_path))
    assert not (tmp_path / "settlement").exists()
    assert not (tmp_path / "bus").exists()


def test_the_exports_columns_are_documented_in_both_formats(tmp_path: Path) -> None:
    document = create_app(Settings(data_dir=tmp_path)).openapi()
    operation = document["paths"]["/v1/settlements/export"]["get"]
    assert all(f"- `{column.name}`: {column.description}" in operation["description"] for column in COLUMNS)
    assert set(operation["responses"]["200"]["content"]) == {"text/csv", "application/x-ndjson"}
    assert operation["responses"]["429"]["content"].keys() == {"application/problem+json"}


def test_the_exports_columns_are_in_the_services_readme() -> None:
    readme = (ROOT / "services" / "settlement" / "README.md").read_text(encoding="utf-8")
    table = "\n".join(f"| `{column.name}` | {column.description} |" for column in COLUMNS)
    assert table in readme
