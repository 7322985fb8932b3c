from collections import Counter as Counted
from datetime import timedelta
from decimal import Decimal

from aex_models.audiences import Audience
from aex_models.contract import Terms
from aex_runtime.identity.principals import Principal
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Document, Query
from aex_settlement.handlers.post_transactions import settle_outcome
from aex_settlement.handlers.read_breakdown import read_settlement_breakdown
from aex_settlement.repository.projections import ROLLUPS
from tests.services.settlement.counter import Counter
from tests.services.settlement.ledger_kit import ACME, BOT, FINANCE, ledger_kit_over
from tests.services.settlement.outcomes import NOON, an_outcome

DAY = timedelta(days=1)


async def settled(counter: Counter) -> None:
    await counter.settle_a_few()
    await counter.seal()


async def test_a_breakdown_groups_counts_and_sums(counter: Counter) -> None:
    await settled(counter)
    await counter.settle("ctr_eur", terms=Terms(cpc_rate=Decimal(2), currency="EUR"), domain="physics")
    await counter.seal()
    found = await counter.read(FINANCE, "/v1/settlements/breakdown", group_by="consumer,domain")
    assert [(row["consumer"], row["domain"], row["currency"], row["count"], row["total"]) for row in found["rows"]] == [
        ("acme", "general", "USD", 2, "3.00"),
        ("acme", "physics", "EUR", 1, "2.50"),
        ("acme", "physics", "USD", 2, "3.00"),
        ("globex", "general", "USD", 2, "3.00"),
        ("globex", "physics", "USD", 2, "3.00"),
    ]
    assert [(row["currency"], row["count"], row["success_count"]) for row in found["totals"]] == [
        ("EUR", 1, 1),
        ("USD", 8, 8),
    ]
    assert found["totals"][1] | {"cpc": "8.00", "cpa_bonus": "4.00", "cpa_penalty": "0.00"} == found["totals"][1]
    assert found["complete_to"] == "2025-03-01T20:00:00.000002Z"


async def test_a_breakdown_keeps_to_days_and_currency(counter: Counter) -> None:
    await settled(counter)
    counter.ledger.clock.advance(timedelta(days=1))
    await counter.settle("ctr_eur", terms=Terms(cpc_rate=Decimal(2), currency="EUR"))
    await counter.seal()
    days = {"from": "2025-03-02", "to": "2025-03-02"}
    found = await counter.read(FINANCE, "/v1/settlements/breakdown", group_by=["day", "agent"], **days)
    assert [(row["day"], row["agent"], row["count"]) for row in found["rows"]] == [("2025-03-02", "bot", 1)]
    euros = await counter.read(FINANCE, "/v1/settlements/breakdown", group_by="month", currency="EUR")
    assert [(row["month"], row["currency"]) for row in euros["rows"]] == [("2025-03", "EUR")]


async def test_a_breakdown_holds_the_readers_own_rows_alone(counter: Counter) -> None:
    await settled(counter)
    for reader, name in ((ACME, "consumer"), (BOT, "agent")):
        found = await counter.read(reader, "/v1/settlements/breakdown", group_by=name)
        assert [(row[name], row["count"]) for row in found["rows"]] == [(reader.id, 4)]
        assert [total["count"] for total in found["totals"]] == [4]
    nothing = await counter.read(Principal("new", Audience.AGENT), "/v1/settlements/breakdown", group_by="day")
    assert (nothing["rows"], nothing["totals"]) == ([], [])


async def test_what_is_not_sealed_yet_is_not_counted(counter: Counter) -> None:
    nothing = await counter.read(FINANCE, "/v1/settlements/breakdown", group_by="day")
    assert nothing == {"rows": [], "totals": [], "complete_to": None}
    await settled(counter)
    before = await counter.read(FINANCE, "/v1/settlements/breakdown", group_by="day")
    await counter.settle("ctr_new")
    assert await counter.read(FINANCE, "/v1/settlements/breakdown", group_by="day") == before
    await counter.seal()
    after = await counter.read(FINANCE, "/v1/settlements/breakdown", group_by="day")
    assert (after["totals"][0]["count"], after["complete_to"] > before["complete_to"]) == (9, True)


async def test_a_reversal_counts_negatively_on_its_own_day_and_leaves_zeros(counter: Counter) -> None:
    await counter.settle("ctr_1", agent_id="bot")
    await counter.settle("ctr_2", agent_id="crew")
    counter.ledger.clock.advance(DAY)
    replacement = {"base": "0.80", "bonus": "0", "penalty": "0.30"}
    assert (await counter.reverse("ctr_1", replacement=replacement)).status_code == 201
    assert (await counter.reverse("ctr_2")).status_code == 201
    await counter.seal()
    by_day = await counter.read(FINANCE, "/v1/settlements/breakdown", group_by="agent,day")
    assert [(row["agent"], row["day"], row["count"], row["success_count"], row["total"]) for row in by_day["rows"]] == [
        ("bot", "2025-03-01", 1, 1, "1.50"),
        ("bot", "2025-03-02", 0, 0, "-1.00"),
        ("crew", "2025-03-01", 1, 1, "1.50"),
        ("crew", "2025-03-02", -1, -1, "-1.50"),
    ]
    by_agent = await counter.read(FINANCE, "/v1/settlements/breakdown", group_by="agent")
    assert [(row["agent"], row["count"], row["cpa_penalty"], row["total"]) for row in by_agent["rows"]] == [
        ("bot", 1, "0.30", "0.50"),
        ("crew", 0, "0.00", "0.00"),
    ]


class WatchedStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.brought: Counted[str] = Counted()

    async def query_page(self, query: Query) -> list[Document]:
        found = await super().query_page(query)
        self.brought[query.collection.name] += len(found)
        return found


async def test_a_breakdown_reads_rollups_alone_however_many_settled() -> None:
    brought = []
    for many in (3, 60):
        store = WatchedStore()
        ledger = ledger_kit_over(store, NOON)
        for number in range(many):
            await settle_outcome(ledger.deps, an_outcome(f"ctr_{number}", agent_id=f"bot-{number % 3}"))
        await ledger.seal()
        store.brought.clear()
        found = await read_settlement_breakdown(ledger.deps, FINANCE, ["agent"], None, None, None)
        assert found.totals[0].count == many
        brought.append(dict(store.brought))
    assert brought == [{ROLLUPS.collection.name: 3}] * 2
