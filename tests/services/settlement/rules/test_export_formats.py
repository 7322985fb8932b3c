"""Exported rows are whole, exact, and never run as formulae."""

import csv
import io
import json
from datetime import timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.audiences import Audience
from aex_models.settlement import LedgerTransaction, Posting, TransactionKind
from aex_settlement.rules.export import COLUMNS, EXPORT_ENCODERS, ExportFormat, format_micros, visible_columns
from aex_settlement.rules.transactions import build_reversal_transaction, build_settlement_transaction
from tests.services.settlement.outcomes import NOON, a_settlement


def a_booking(reason: str = "outcome out_1", **changes: Any) -> LedgerTransaction:
    settlement = a_settlement(**changes)
    return build_settlement_transaction(settlement, 1, settlement.cost, NOON, reason, "service:settlement")


def csv_rows(*bookings: LedgerTransaction) -> list[dict[str, str]]:
    encoder = EXPORT_ENCODERS[ExportFormat.CSV]
    text = (encoder.head(COLUMNS) + encoder.rows(COLUMNS, bookings)).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def json_rows(*bookings: LedgerTransaction) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in EXPORT_ENCODERS[ExportFormat.JSONL].rows(COLUMNS, bookings).decode().split("\n")[:-1]
    ]


def test_a_booking_and_its_reversal_differ_in_kind_and_sign() -> None:
    settlement = a_settlement()
    back = build_reversal_transaction(settlement, 1, settlement.cost, NOON + timedelta(hours=1), "booked twice", "ada")
    there, gone = csv_rows(a_booking(), back)
    assert there == {
        "booked_at": "2025-03-01T12:00:00Z",
        "kind": "settlement",
        "contract_id": "ctr_1",
        "work_id": "work_1",
        "agent_id": "bot",
        "consumer_id": "acme",
        "domain": "general",
        "revision": "1",
        "success": "true",
        "currency": "USD",
        "base": "1.00",
        "bonus": "0.00",
        "penalty": "0.00",
        "total": "1.00",
        "fee": "0.00",
        "bonus_capped": "0.00",
        "penalty_waived": "0.00",
        "transaction_id": a_booking().id,
        "reason": "outcome out_1",
        "by": "service:settlement",
    }
    assert gone == there | {
        "booked_at": "2025-03-01T13:00:00Z",
        "kind": "reversal",
        "base": "-1.00",
        "total": "-1.00",
        "transaction_id": back.id,
        "reason": "booked twice",
        "by": "ada",
    }


def test_both_formats_say_the_same() -> None:
    booking = a_booking(reason='a "quoted", reason\r\nin two lines', success=False)
    (visible,), (logged,) = csv_rows(booking), json_rows(booking)
    assert logged["revision"] == 1
    assert logged["success"] is False
    assert {name: str(cell).lower() for name, cell in logged.items()} == {n: c.lower() for n, c in visible.items()}


@pytest.mark.parametrize(
    "text",
    [
        "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "＝1", '=HYPERLINK("http://x","y")', " =1+1", "\u200b=1+1",
        "\ufeff=1+1", "\x0b=1+1", "\x00=1+1", "\u202e@x", "\u00a0 +1", "﹦1+1", "﹢1", "﹣1", "﹫x", "－1", "−1",
        " \u2028−1", "\tx", "\rx", "\nx", "\t",
    ],
)  # fmt: skip
def test_text_that_a_spreadsheet_would_run_has_an_apostrophe_in_front(text: str) -> None:
    booking = a_booking(reason=text)
    assert csv_rows(booking)[0]["reason"] == f"'{text}"
    assert json_rows(booking)[0]["reason"] == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a;=1+1", "a;'=1+1"),
        ("a; =1;-2", "a;' =1;'-2"),
        ("a\t=1\n@x\r\n+2", "a\t'=1\n'@x\r\n'+2"),
        ("\t=1", "'\t'=1"),
        ("a;b\nc", "a;b\nc"),
        *((each, each) for each in ("agreed: 2+3=5 @noon", "e-mail", "ü-", "", " ", "\u200b", "'=1", "3−1", "0x=1")),
    ],
)
def test_only_parts_that_a_spreadsheet_would_run_are_escaped(text: str, written: str) -> None:
    assert csv_rows(a_booking(reason=text))[0]["reason"] == written


def test_all_text_is_quoted_and_no_number_is() -> None:
    settlement = a_settlement(domain="a,b;c")
    back = build_reversal_transaction(settlement, 1, settlement.cost, NOON, 'say "x"', "ada")
    line = EXPORT_ENCODERS[ExportFormat.CSV].rows(COLUMNS, [back]).decode()
    assert '"a,b;c",1,"true","USD",-1.00,0.00,0.00,-1.00,0.00,0.00,0.00,"' in line
    assert line.endswith(',"say ""x""","ada"\r\n')


@given(st.integers(-(10**18), 10**18))
def test_an_amount_of_any_size_is_written_plainly(micros: int) -> None:
    settlement = a_settlement()
    posted = build_settlement_transaction(settlement, 1, settlement.cost, NOON, "", "")
    assert posted.booking is not None
    posted = posted.model_copy(update={"booking": posted.booking.model_copy(update={"total": micros})})
    line = EXPORT_ENCODERS[ExportFormat.CSV].rows(COLUMNS, [posted]).decode()
    assert f",{format_micros(micros)}," in line


@given(st.text(st.characters(codec="utf-8", exclude_characters="'"), max_size=20))
def test_no_text_gets_lost_or_breaks_the_row(text: str) -> None:
    booking = a_booking(reason=text, agent_id="@bot", domain="=x")
    (row,) = csv_rows(booking)
    assert row["reason"].replace("'", "") == text
    assert (row["agent_id"], row["domain"], row["by"]) == ("'@bot", "'=x", "service:settlement")
    assert not row["reason"].strip().startswith(("=", "+", "-", "@"))
    assert not row["reason"].startswith(("\t", "\r", "\n"))
    assert json_rows(booking)[0]["reason"] == text


def test_a_row_is_one_line_to_every_reader() -> None:
    text = "\x85 \u2028 \u2029 \x1c \r\n ü"
    lines = EXPORT_ENCODERS[ExportFormat.JSONL].rows(COLUMNS, [a_booking(reason=text)]).decode().splitlines()
    assert [json.loads(line)["reason"] for line in lines] == [text]


def test_days_are_utc_for_times_in_any_zone() -> None:
    settlement = a_settlement()
    at = NOON.astimezone(timezone(timedelta(hours=14)))
    logged = build_settlement_transaction(settlement, 1, settlement.cost, at, "", "")
    assert csv_rows(logged)[0]["booked_at"] == "2025-03-01T12:00:00Z"


def test_what_is_no_booking_is_no_row() -> None:
    sides = (("platform:cash", 5), ("consumer:acme", -5))
    deposit = LedgerTransaction(
        id="txn_1",
        kind=TransactionKind.DEPOSIT,
        postings=tuple(Posting(account=name, amount=amount, currency="USD") for name, amount in sides),
        occurred_at=NOON,
    )
    assert csv_rows(deposit) == json_rows(deposit) == []


def test_author_column_is_for_finance_only() -> None:
    names = {audience: [column.name for column in visible_columns(audience)] for audience in Audience}
    assert names[Audience.FINANCE] == [column.name for column in COLUMNS]
    for audience in (Audience.CONSUMER, Audience.AGENT):
        assert names[audience] == [column.name for column in COLUMNS if column.name != "by"]
