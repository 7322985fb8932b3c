"""The settlement, told: what each contract cost, what each agent got, and that the books balance."""

from collections.abc import Sequence
from datetime import datetime

from aex_cli.demo.cast import Cast
from aex_cli.demo.expectations import expect, until
from aex_cli.demo.wording import (
    BALANCE_COLUMNS,
    BREAKDOWN_COLUMNS,
    NUMBERS,
    SETTLEMENT_COLUMNS,
    balance_rows,
    breakdown_rows,
    settlement_rows,
    sums,
)
from aex_cli.report import Report
from aex_client import AsyncAexClient, OutcomeView, SettlementView, calls
from aex_models.governance import HoldStatus


async def tell_settlement(cast: Cast, outcomes: Sequence[OutcomeView], report: Report) -> None:
    """The chapter. Raises `NotAsTold`, also where the trial balance is not exactly zero."""
    report.chapter("Settlement")
    await _nothing_held(cast.operator, outcomes, report)
    settled = [await _settled(cast.finance, outcome) for outcome in outcomes]
    report.step("settled", "base + bonus − penalty, posted once and only once:")
    report.table(SETTLEMENT_COLUMNS, settlement_rows(settled), NUMBERS)
    last = max(each.settled_at for each in settled)
    breakdown = await until(
        lambda: cast.finance.breakdown("agent"), "the breakdown", lambda found: _reaches(found.complete_to, last)
    )
    report.step("breakdown", "by agent, over all that is kept there:")
    report.table(BREAKDOWN_COLUMNS, breakdown_rows(breakdown.rows), NUMBERS)
    balance = await until(
        cast.finance.trial_balance, "the trial balance", lambda found: _reaches(found.complete_to, last)
    )
    accounts = balance.accounts
    report.step("balance", "trial balance, + owes, − is owed; the sum is exactly zero:")
    report.table(BALANCE_COLUMNS, balance_rows(accounts), NUMBERS)
    report.step(
        "sealed", f"both are complete to {balance.complete_to:%Y-%m-%d %H:%M:%S} UTC; what is sealed stays as it is"
    )
    expect(len(accounts) > 0, "the trial balance has no accounts")
    expect(not any(sums(accounts).values()), f"the trial balance is not zero: {sums(accounts)}")


async def _nothing_held(operator: AsyncAexClient, outcomes: Sequence[OutcomeView], report: Report) -> None:
    ours = {outcome.contract_id for outcome in outcomes}
    held = [
        hold async for hold in operator.each(calls.list_holds(status=HoldStatus.WAITING)) if hold.contract_id in ours
    ]
    expect(not held, f"governance holds {', '.join(hold.contract_id for hold in held)}")
    report.step("holds", "the operator finds nothing held: governance let all outcomes through")


async def _settled(finance: AsyncAexClient, outcome: OutcomeView) -> SettlementView:
    """The settlement, which agrees with what verification said that the outcome costs."""
    contract_id = outcome.contract_id
    settlement = await until(lambda: finance.get_settlement(contract_id), f"the settlement of {contract_id}")
    cost, told = settlement.cost, outcome.billing_impact
    agree = (cost.base, cost.bonus, cost.penalty, cost.total) == (told.base, told.bonus, told.penalty, told.total)
    expect(agree, f"settlement and verification disagree on the cost of {contract_id}")
    return settlement


def _reaches(complete_to: datetime | None, moment: datetime) -> bool:
    """Whether the books are sealed as far as that; they follow within a second."""
    return complete_to is not None and complete_to >= moment
