"""Verdicts, money and criteria as the demo writes them. Pure."""

from collections.abc import Sequence
from decimal import Decimal

from aex_client import CostView, SettlementView, VerificationView
from aex_client.views import CriterionView
from aex_models.criteria import SuccessCriteria
from aex_models.money import format_amount
from aex_models.settlement import AccountBalance, BreakdownRow
from aex_outcomes.in_words import needed

Rows = list[tuple[str, ...]]
VERDICT_COLUMNS = ("metric", "value", "needs", "met", "money")
SETTLEMENT_COLUMNS = ("contract", "agent", "base", "bonus", "penalty", "total", "currency")
BREAKDOWN_COLUMNS = ("agent", "contracts", "passed", "base", "bonus", "penalty", "total", "currency")
BALANCE_COLUMNS = ("account", "balance", "currency")
NUMBERS = ("value", "money", "contracts", "passed", "base", "bonus", "penalty", "total", "balance")
"""Columns that are set to the right."""
_PARTS = ("base", "bonus", "penalty", "total")
_HIDDEN = "hidden"


def verdict_rows(criteria: SuccessCriteria, result: VerificationView) -> Rows:
    """One row for each criterion, as the reader of the result may see it: metric, value, threshold, met, money."""
    wanted = {each.metric: needed(each) for each in criteria.criteria}
    return [
        (each.metric, _value(each), wanted[each.metric], "yes" if each.met else "no", _money(each, result.success))
        for each in result.criterion_results
    ]


def _value(result: CriterionView) -> str:
    if result.error is not None:
        return result.error.code
    if result.value is None:
        return _HIDDEN
    return f"{result.value:.3f}".rstrip("0").rstrip(".") if isinstance(result.value, float) else str(result.value)


def _money(result: CriterionView, success: bool) -> str:
    """What the criterion brings; a bonus counts where the outcome succeeds."""
    if result.met and success and result.bonus:
        return f"+{format_amount(result.bonus)}"
    return f"-{format_amount(result.penalty)}" if not result.met and result.penalty else ""


def settlement_rows(settlements: Sequence[SettlementView]) -> Rows:
    """One row for each contract, and their sum."""
    rows: Rows = [(each.contract_id, each.agent_id, *_amounts(each.cost), each.cost.currency) for each in settlements]
    sums = (sum((getattr(each.cost, name) for each in settlements), Decimal(0)) for name in _PARTS)
    currency = ", ".join(sorted({each.cost.currency for each in settlements}))
    return [*rows, ("sum", "", *map(format_amount, sums), currency)]


def breakdown_rows(rows: Sequence[BreakdownRow]) -> Rows:
    """One row for each agent and currency."""
    return [
        (
            row.agent or "",
            str(row.count),
            str(row.success_count),
            *map(format_amount, (row.cpc, row.cpa_bonus, row.cpa_penalty, row.total)),
            row.currency,
        )
        for row in rows
    ]


def balance_rows(accounts: Sequence[AccountBalance]) -> Rows:
    """One row for each account and currency, and the sum of each currency."""
    rows: Rows = [(each.account, format_amount(each.balance), each.currency) for each in accounts]
    return [*rows, *(("sum", format_amount(total), currency) for currency, total in sums(accounts).items())]


def sums(accounts: Sequence[AccountBalance]) -> dict[str, Decimal]:
    """What the balances of each currency come to: zero, where the books balance."""
    found: dict[str, Decimal] = {}
    for each in accounts:
        found[each.currency] = found.get(each.currency, Decimal(0)) + each.balance
    return found


def _amounts(cost: CostView) -> tuple[str, ...]:
    return tuple(format_amount(getattr(cost, name)) for name in _PARTS)
