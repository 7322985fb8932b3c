"""The last part of the demo: the cost of each contract, the breakdown and the trial balance."""

from collections.abc import Sequence
from datetime import datetime

from aex_cli.demo import tables
from aex_cli.demo.clients import DemoClients
from aex_cli.demo.steps import expect, poll_until_done
from aex_cli.report import Report
from aex_client import AsyncAexClient, OutcomeView, SettlementView, calls
from aex_models.governance import HoldStatus


async def show_and_check_settlements(clients: DemoClients, outcomes: Sequence[OutcomeView], report: Report) -> None:
    """Print settlements, breakdown and trial balance, and check them.

    Raises `DemoFailed` if an outcome is held, a cost differs from verification's, or the balance is not zero.
    """
    report.print_heading("Settlement")
    await _expect_no_holds(clients.operator, outcomes, report)
    settled = [await _get_settlement(clients.finance, outcome) for outcome in outcomes]
    report.print_step("settled", "base + bonus − penalty, posted exactly once:")
    report.print_table(tables.SETTLEMENT_COLUMNS, tables.build_settlement_rows_with_sum(settled), tables.NUMBERS)
    last = max(each.settled_at for each in settled)
    breakdown = await poll_until_done(
        lambda: clients.finance.breakdown("agent"), "the breakdown", lambda found: _reaches(found.complete_to, last)
    )
    report.print_step("breakdown", "by agent, over all settlements:")
    report.print_table(tables.BREAKDOWN_COLUMNS, tables.build_breakdown_rows(breakdown.rows), tables.NUMBERS)
    balance = await poll_until_done(
        clients.finance.trial_balance, "the trial balance", lambda found: _reaches(found.complete_to, last)
    )
    accounts = balance.accounts
    report.print_step("balance", "trial balance, + debit, − credit; the sum is exactly zero:")
    report.print_table(tables.BALANCE_COLUMNS, tables.build_balance_rows_with_sums(accounts), tables.NUMBERS)
    complete = f"both are complete to {balance.complete_to:%Y-%m-%d %H:%M:%S} UTC"
    report.print_step("sealed", f"{complete}; sealed entries never change")
    expect(len(accounts) > 0, "the trial balance has no accounts")
    sums = tables.sum_balances_by_currency(accounts)
    expect(not any(sums.values()), f"the trial balance is not zero: {sums}")


async def _expect_no_holds(operator: AsyncAexClient, outcomes: Sequence[OutcomeView], report: Report) -> None:
    contract_ids = {outcome.contract_id for outcome in outcomes}
    held = [
        hold
        async for hold in operator.each(calls.list_holds(status=HoldStatus.WAITING))
        if hold.contract_id in contract_ids
    ]
    expect(not held, f"governance holds {', '.join(hold.contract_id for hold in held)}")
    report.print_step("holds", "the operator finds no hold: governance allowed all outcomes")


async def _get_settlement(finance: AsyncAexClient, outcome: OutcomeView) -> SettlementView:
    """Wait for the settlement of an outcome and return it.

    Raises `DemoFailed` if its cost differs from the one that verification stored.
    """
    contract_id = outcome.contract_id
    settlement = await poll_until_done(lambda: finance.get_settlement(contract_id), f"the settlement of {contract_id}")
    cost, impact = settlement.cost, outcome.billing_impact
    agree = all(getattr(cost, name) == getattr(impact, name) for name in ("base", "bonus", "penalty", "total"))
    expect(agree, f"settlement and verification disagree on the cost of {contract_id}")
    return settlement


def _reaches(complete_to: datetime | None, moment: datetime) -> bool:
    # The sealer follows within a second.
    return complete_to is not None and complete_to >= moment
