"""The export's columns: one row for each booking of a contract's cost, a reversal's amounts negative.

So a column's sum over any rows is what the breakdown says of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from aex_models.allowlists import ALLOWED
from aex_models.audiences import Audience
from aex_models.booking import Booking
from aex_models.settlement import LedgerTransaction

Cell = str | int | bool


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, what it holds, and how it is read.

    `free`: text that a spreadsheet might run. `flag`: true or false. `amount`: money in plain digits.
    """

    name: str
    about: str
    of: Callable[[LedgerTransaction, Booking], Cell]
    free: bool = False
    flag: bool = False
    amount: bool = False


def amount_text(micros: int) -> str:
    """Micros in plain digits, as `aex_models.money.format_amount` writes them: `-0.25`, `10.00`, `0.000001`."""
    whole, rest = divmod(abs(micros), 1_000_000)
    decimals = f"{rest:06d}".rstrip("0").ljust(2, "0") if rest else "00"
    return f"-{whole}.{decimals}" if micros < 0 else f"{whole}.{decimals}"


def _instant(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


COLUMNS = (
    Column(
        "booked_at",
        "when it was booked, RFC 3339, UTC: its day is the breakdown's",
        lambda t, _: _instant(t.occurred_at),
    ),
    Column("kind", "`settlement`, or `reversal`, whose amounts are negative", lambda t, _: t.kind.value),
    Column("contract_id", "the contract", lambda t, _: t.contract_id or "", free=True),
    Column("work_id", "its work", lambda _, b: b.work_id, free=True),
    Column("agent_id", "who delivered", lambda _, b: b.agent_id, free=True),
    Column("consumer_id", "who pays", lambda _, b: b.consumer_id, free=True),
    Column("domain", "the work's domain", lambda _, b: b.domain, free=True),
    Column("revision", "which revision of the contract's cost is booked, or taken back", lambda _, b: b.revision),
    Column("success", "whether the outcome succeeded: `true` or `false`", lambda _, b: b.success_count != 0, flag=True),
    Column("currency", "of all amounts of the row, ISO 4217", lambda t, _: t.postings[0].currency),
    Column("base", "`cpc` of the breakdown", lambda _, b: amount_text(b.cpc), amount=True),
    Column("bonus", "`cpa_bonus` of the breakdown", lambda _, b: amount_text(b.cpa_bonus), amount=True),
    Column("penalty", "`cpa_penalty` of the breakdown", lambda _, b: amount_text(b.cpa_penalty), amount=True),
    Column("total", "base + bonus − penalty", lambda _, b: amount_text(b.total), amount=True),
    Column(
        "fee", "the platform's share of the total, borne by the agent", lambda _, b: amount_text(b.fee), amount=True
    ),
    Column(
        "bonus_capped", "bonus earned and taken away by the cap", lambda _, b: amount_text(b.bonus_capped), amount=True
    ),
    Column(
        "penalty_waived",
        "penalty incurred and taken away by the cap or the floor",
        lambda _, b: amount_text(b.penalty_waived),
        amount=True,
    ),
    Column("transaction_id", "the ledger's transaction", lambda t, _: t.id, free=True),
    Column("reason", "why it was booked", lambda t, _: t.reason, free=True),
    Column("by", "who booked it; for finance alone", lambda t, _: t.by, free=True),
)
"""In their order. Every column that there will ever be is added at the end."""


def columns_for(audience: Audience) -> tuple[Column, ...]:
    """The columns that an audience sees: of what belongs to the ledger's transaction, what its allow-list names."""
    shown = ALLOWED[LedgerTransaction][audience.value]
    return tuple(
        column for column in COLUMNS if column.name not in LedgerTransaction.model_fields or column.name in shown
    )
