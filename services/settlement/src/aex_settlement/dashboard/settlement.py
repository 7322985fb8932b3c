"""What a settlement's page shows, as its reader may see it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from aex_models.audiences import project
from aex_models.money import ZERO, from_micros
from aex_models.settlement import LedgerTransaction, Posting, Settlement
from aex_runtime.identity.principal import Principal
from aex_settlement.rules.visibility import may_read_account

Row = Mapping[str, Any]
_SIGNS = {"gte": "≥", "lte": "≤", "gt": ">", "lt": "<", "eq": "=", "neq": "≠"}


@dataclass(frozen=True, slots=True)
class Line:
    """One criterion. `value` is None where it was not measured, and `withheld` where the reader may not know it."""

    metric: str
    condition: str
    value: object
    withheld: bool
    met: bool
    amount: str


@dataclass(frozen=True, slots=True)
class PostingRow:
    """One side of a transaction: an amount on the left (debit) or on the right (credit)."""

    account: str
    currency: str
    debit: str | None
    credit: str | None


@dataclass(frozen=True, slots=True)
class Booked:
    """A transaction, with those of its postings that the reader may see."""

    transaction: Row
    postings: tuple[PostingRow, ...]


@dataclass(frozen=True, slots=True)
class SettlementView:
    """A settlement as `project` shows it, and what the page adds."""

    record: Row
    lines: tuple[Line, ...]
    judged_revision: int | None
    """Whose lines these are; None where no criterion was judged."""
    booked: tuple[Booked, ...]
    deducted: Decimal
    """What the penalty adds to the total: 0 or below."""


def settlement_view(settlement: Settlement, booked: Sequence[LedgerTransaction], reader: Principal) -> SettlementView:
    """The page's content; the lines are those of the latest revision that has any: finance's figures have none."""
    record = project(settlement, reader.role)
    judged = next((each for each in reversed(record["revisions"]) if each["cost"]["lines"]), None)
    return SettlementView(
        record=record,
        lines=() if judged is None else tuple(map(_line, judged["cost"]["lines"])),
        judged_revision=None if judged is None else judged["revision"],
        booked=tuple(_booked(each, reader) for each in booked),
        deducted=ZERO - Decimal(record["cost"]["penalty"]),  # not `-`, which makes a negative 0 of 0
    )


def _line(shown: Row) -> Line:
    return Line(
        metric=shown["metric"],
        condition=_condition(str(shown["comparison"]), shown["threshold"]),
        value=shown.get("value"),
        withheld="value" not in shown,
        met=shown["met"],
        amount=shown["amount"],
    )


def _condition(comparison: str, threshold: object) -> str:
    """Such as `≥ 0.4` or `in range 1 to 5`; a schema is named and not written out."""
    sign = _SIGNS.get(comparison, comparison.replace("_", " "))
    if isinstance(threshold, dict):
        is_range = threshold.keys() == {"min", "max"}
        return f"{sign} {threshold['min']} to {threshold['max']}" if is_range else f"{sign} a schema"
    if isinstance(threshold, list):
        return f"{sign} {', '.join(map(str, threshold))}"
    return f"{sign} {str(threshold).lower() if isinstance(threshold, bool) else threshold}"


def _booked(transaction: LedgerTransaction, reader: Principal) -> Booked:
    mine = [each for each in transaction.postings if may_read_account(reader, each.account)]
    return Booked(project(transaction, reader.role), tuple(map(_posting, mine)))


def _posting(posting: Posting) -> PostingRow:
    amount = str(from_micros(abs(posting.amount)))
    is_debit = posting.amount >= 0
    return PostingRow(posting.account, posting.currency, amount if is_debit else None, None if is_debit else amount)
