"""The same books on Firestore: settled, corrected, sealed, read and exported."""

import csv
import io
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from aex_runtime.store.firestore import FirestoreStore
from tests.emulators.emulators import Emulators
from tests.services.settlement.counter import Counter, a_deposit, open_counter
from tests.services.settlement.ledger_kit import ACME, BOT, FINANCE, ledger_kit_over
from tests.services.settlement.outcomes import NOON

pytestmark = pytest.mark.emulator
LESS = {"base": "0.80", "bonus": "0", "penalty": "0.30"}
DAY = timedelta(days=1)


@pytest.fixture
async def counter(emulators: Emulators, project: str, tmp_path: Path) -> AsyncIterator[Counter]:
    store = FirestoreStore(project, emulator=emulators.firestore.host)
    try:
        async with open_counter(ledger_kit_over(store, NOON), tmp_path) as opened:
            yield opened
    finally:
        await store.close()


async def posted(counter: Counter) -> None:
    await counter.settle_a_few()
    await counter.post(FINANCE, "/v1/ledger/transactions", a_deposit())
    await counter.seal()
    counter.ledger.clock.advance(DAY)
    assert (await counter.reverse("ctr_0")).status_code == 201
    assert (await counter.reverse("ctr_1", replacement=LESS)).status_code == 201
    await counter.seal()


async def test_breakdown_and_export_add_up_to_the_same(counter: Counter) -> None:
    await posted(counter)
    found = await counter.read(FINANCE, "/v1/settlements/breakdown", group_by="agent,day")
    assert [(row["agent"], row["day"], row["count"], row["total"]) for row in found["rows"]] == [
        ("bot", "2025-03-01", 4, "6.00"),
        ("bot", "2025-03-02", -1, "-2.50"),
        ("crew", "2025-03-01", 4, "6.00"),
    ]
    own = await counter.read(ACME, "/v1/settlements/breakdown", group_by="domain")
    assert [(row["domain"], row["count"], row["total"]) for row in own["rows"]] == [
        ("general", 1, "1.50"),
        ("physics", 2, "2.00"),
    ]
    answer = await counter.ask(FINANCE, "/v1/settlements/export", format="csv")
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert [row["contract_id"] for row in rows[:8]] == [f"ctr_{number}" for number in range(8)]
    assert sorted(row["kind"] for row in rows[8:]) == ["reversal", "reversal", "settlement"]
    gone = await counter.ask(BOT, "/v1/settlements/export", format="csv", status="reversed")
    assert gone.text.count('"ctr_0",') == 2


async def test_books_are_read_at_past_instants_and_page_by_page(counter: Counter) -> None:
    await posted(counter)
    before = await counter.trial_balance(as_of="2025-03-02T10:00:00Z")
    assert (before["agent:bot USD"], before["consumer:acme USD"]) == ("-5.40", "-94.00")
    assert (await counter.trial_balance())["agent:bot USD"] == "-3.15"
    assert await counter.trial_balance(as_of="2025-02-01T00:00:00Z") == {}
    complete = (await counter.read(BOT, "/v1/accounts/agent:bot/entries"))["items"]
    assert (len(complete), complete[0]["balance"]) == (7, "-3.15")
    first = await counter.read(BOT, "/v1/accounts/agent:bot/entries", limit=4)
    rest = await counter.read(BOT, "/v1/accounts/agent:bot/entries", limit=4, cursor=first["next_cursor"])
    assert first["items"] + rest["items"] == complete
    listed = await counter.read(FINANCE, "/v1/settlements", status="settled", agent_id="bot", domain="physics")
    assert [each["contract_id"] for each in listed["items"]] == ["ctr_5", "ctr_1"]
