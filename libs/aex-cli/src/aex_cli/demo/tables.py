"""Rows of the demo's tables: verdicts, settlements, breakdown and balances, as texts."""

from collections.abc import Sequence
from decimal import Decimal
from operator import attrgetter

from aex_client import SettlementView, VerificationView
from aex_client.views import CriterionView
from aex_models.criteria import SuccessCriteria
from aex_models.money import format_amount
from aex_models.settlement import AccountBalance, BreakdownRow
from aex_outcomes.formatting import format_requirement

Rows = list[tuple[str, ...]]
VERDICT_COLUMNS = ("metric", "value", "needs", "met", "money")
SETTLEMENT_COLUMNS = ("contract", "agent", "base", "bonus", "penalty", "total", "currency")
BREAKDOWN_COLUMNS = ("agent", "contracts", "passed", "base", "bonus", "penalty", "total", "currency")
BALANCE_COLUMNS = ("account", "balance", "currency")
NUMBERS = ("value", "money", "contracts", "passed", "base", "bonus", "penalty", "total", "balance")
"""Columns aligned to the right."""
_PARTS = ("base", "bonus", "penalty", "total")


def build_verdict_rows(criteria: SuccessCriteria, result: VerificationView) -> Rows:
    """Return a row of `VERDICT_COLUMNS` for each criterion in the result."""
    thresholds = {each.metric: format_requirement(each) for each in criteria.criteria}
    return [
        (each.metric, _value(each), thresholds[each.metric], "yes" if each.met else "no", _money(each, result.success))
        for each in result.criterion_results
    ]


def _value(result: CriterionView) -> str:
    if result.error is not None:
        return result.error.code
    if result.value is None:
        return "hidden"
    return f"{result.value:.3f}".rstrip("0").rstrip(".") if isinstance(result.value, float) else str(result.value)


def _money(result: CriterionView, success: bool) -> str:
    # A bonus counts only for a successful outcome.
    if result.met and success and result.bonus:
        return f"+{format_amount(result.bonus)}"
    return f"-{format_amount(result.penalty)}" if not result.met and result.penalty else ""


def build_settlement_rows_with_sum(settlements: Sequence[SettlementView]) -> Rows:
    """Return a row of `SETTLEMENT_COLUMNS` for each contract, and a last row with the sums."""
    parts = attrgetter(*_PARTS)
    rows: Rows = [
        (each.contract_id, each.agent_id, *map(format_amount, parts(each.cost)), each.cost.currency)
        for each in settlements
    ]
    sums = (sum((getattr(each.cost, name) for each in settlements), Decimal(0)) for name in _PARTS)
    currency = ", ".join(sorted({each.cost.currency for each in settlements}))
    return [*rows, ("sum", "", *map(format_amount, sums), currency)]


def build_breakdown_rows(rows: Sequence[BreakdownRow]) -> Rows:
    """Return a row of `BREAKDOWN_COLUMNS` for each agent and currency."""
    amounts = ([row.cpc, row.cpa_bonus, row.cpa_penalty, row.total] for row in rows)
    return [
        (row.agent or "", str(row.count), str(row.success_count), *map(format_amount, each), row.currency)
        for row, each in zip(rows, amounts, strict=True)
    ]


def build_balance_rows_with_sums(accounts: Sequence[AccountBalance]) -> Rows:
    """Return a row of `BALANCE_COLUMNS` for each account and currency, then one sum for each currency."""
    rows: Rows = [(each.account, format_amount(each.balance), each.currency) for each in accounts]
    return [
        *rows,
        *(("sum", format_amount(total), currency) for currency, total in sum_balances_by_currency(accounts).items()),
    ]


def sum_balances_by_currency(accounts: Sequence[AccountBalance]) -> dict[str, Decimal]:
    """Return the sum of the balances in each currency. In a correct ledger it is zero."""
    totals: dict[str, Decimal] = {}
    for each in accounts:
        totals[each.currency] = totals.get(each.currency, Decimal(0)) + each.balance
    return totals
