"""The export: every booking of the reader's, oldest first, as a file that is whole or visibly is not."""

import csv
import io
import json
from collections import defaultdict
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx

from aex_models.contract import Terms
from aex_runtime.identity.principals import Principal
from aex_settlement.rules.export import COLUMNS
from tests.services.settlement.counter import Counter, a_deposit
from tests.services.settlement.ledger_kit import ACME, BOT, FINANCE

PATH = "/v1/settlements/export"


def rows(answer: httpx.Response) -> list[dict[str, str]]:
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


async def exported(counter: Counter, reader: Principal = FINANCE, **query: Any) -> list[dict[str, str]]:
    return rows(await counter.ask(reader, PATH, format="csv", **query))


def contracts(found: list[dict[str, str]]) -> list[str]:
    return [row["contract_id"] for row in found]


async def test_a_csv_file_has_its_columns_its_type_and_its_name(counter: Counter) -> None:
    await counter.settle("ctr_1")
    answer = await counter.ask(FINANCE, PATH, format="csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="settlements-20250301T120000Z.csv"'
    header, row, end = answer.text.split("\r\n")
    assert header.split(",") == [column.name for column in COLUMNS]
    names = '"ctr_1","work_1","bot","acme","general"'
    assert row.startswith(f'"2025-03-01T12:00:00Z","settlement",{names},1,"true","USD",1.00,0.50,0.00,1.50,')
    assert end == ""


async def test_without_a_format_it_is_a_csv_file(counter: Counter) -> None:
    answer = await counter.ask(FINANCE, PATH)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    parameters = (await counter.client.get("/openapi.json")).json()["paths"][PATH]["get"]["parameters"]
    (written,) = [each for each in parameters if each["name"] == "format"]
    assert (written["required"], written["schema"]["default"]) == (False, "csv")


async def test_json_lines_have_the_same_names(counter: Counter) -> None:
    await counter.settle("ctr_1")
    answer = await counter.ask(FINANCE, PATH, format="jsonl")
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"].endswith('.jsonl"')
    (line, end) = answer.text.split("\n")
    logged = json.loads(line)
    assert list(logged) == [column.name for column in COLUMNS]
    assert (logged["revision"], logged["success"], logged["total"], end) == (1, True, "1.50", "")


async def test_nothing_to_export_is_a_line_of_names_or_nothing(counter: Counter) -> None:
    await counter.post(FINANCE, "/v1/ledger/transactions", a_deposit())
    assert (await counter.ask(FINANCE, PATH, format="csv")).text.startswith("booked_at,kind,")
    assert await exported(counter) == []
    assert (await counter.ask(FINANCE, PATH, format="jsonl")).text == ""


async def test_reversals_are_rows_of_their_own_and_the_sums_are_the_breakdowns(counter: Counter) -> None:
    await counter.settle_a_few()
    await counter.settle("ctr_eur", terms=Terms(cpc_rate=Decimal(2), currency="EUR"))
    await counter.reverse("ctr_1", reason="=cmd|' /C calc'!A0")
    await counter.reverse("ctr_2", replacement={"base": "0.80", "bonus": "0", "penalty": "0.30"})
    await counter.seal()
    found = await exported(counter)
    posted = [datetime.fromisoformat(row["booked_at"]) for row in found]
    assert posted == sorted(posted)
    assert [
        (row["kind"], row["revision"], row["total"], row["reason"]) for row in found if row["contract_id"] == "ctr_1"
    ] == [("settlement", "1", "1.50", "outcome out_ctr_1"), ("reversal", "1", "-1.50", "'=cmd|' /C calc'!A0")]
    sums: dict[tuple[str, str], dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for row in found:
        group = sums[row["agent_id"], row["currency"]]
        group["count"] += 1 if row["kind"] == "settlement" else -1
        for column, trade_name in (
            ("base", "cpc"), ("bonus", "cpa_bonus"), ("penalty", "cpa_penalty"), ("total", "total"),
        ):  # fmt: skip
            group[trade_name] += Decimal(row[column])
    logged = await counter.read(FINANCE, "/v1/settlements/breakdown", group_by="agent")
    assert {
        (row["agent"], row["currency"]): {name: Decimal(row[name]) for name in sums["bot", "USD"]}
        for row in logged["rows"]
    } == sums


async def test_filters_narrow_the_rows(counter: Counter) -> None:
    await counter.settle_a_few()
    counter.ledger.clock.advance(timedelta(days=1))
    await counter.settle("ctr_eur", terms=Terms(cpc_rate=Decimal(2), currency="EUR"))
    await counter.reverse("ctr_0")
    assert contracts(await exported(counter, agent_id="crew", consumer_id="globex")) == ["ctr_6", "ctr_7"]
    assert contracts(await exported(counter, domain="physics", consumer_id="acme")) == ["ctr_1", "ctr_3"]
    assert contracts(await exported(counter, currency="EUR")) == ["ctr_eur"]
    assert contracts(await exported(counter, status="reversed")) == ["ctr_0", "ctr_0"]
    assert len(await exported(counter, status="settled")) == 8
    days: dict[str, Any] = {"from": "2025-03-02", "to": "2025-03-02"}
    assert sorted(contracts(await exported(counter, **days))) == ["ctr_0", "ctr_eur"]
    assert await exported(counter, to="2025-02-28") == []


async def test_export_of_several_pages_is_complete_and_in_order(counter: Counter) -> None:
    for number in range(801):
        await counter.settle(f"ctr_{number}")
        if number % 7:
            counter.ledger.clock.advance(timedelta(seconds=1))
    found = contracts(await exported(counter, ACME))
    assert len(found) == 801
    assert set(found) == {f"ctr_{number}" for number in range(801)}
    assert len(await exported(counter, status="settled")) == 801


async def test_parties_export_their_own_rows_without_author(counter: Counter) -> None:
    await counter.settle_a_few()
    for reader, name in ((ACME, "consumer_id"), (BOT, "agent_id")):
        found = await exported(counter, reader)
        assert (len(found), {row[name] for row in found}) == (4, {reader.id})
        assert not any("by" in row for row in found)
        assert await exported(counter, reader, **{name: "another-party"}) == []
