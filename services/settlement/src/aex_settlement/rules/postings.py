"""A cost as postings: who is debited, who is credited (spec file 6, "Ledger")."""

from aex_models.money import to_micros
from aex_models.settlement import Cost, Posting
from aex_settlement.rules.accounts import FEES, agent_account, consumer_account


def settlement_postings(cost: Cost, consumer_id: str, agent_id: str) -> tuple[Posting, ...]:
    """consumer +total, agent −(total − fee), fees −fee; amounts in micros, summing to zero.

    Both parties are always posted, also with 0: each settled contract has its transaction, so that whatever is
    projected from the ledger counts it. The fees are posted where there are any.
    """
    total, fee = to_micros(cost.total), to_micros(cost.fee)
    sides = [(consumer_account(consumer_id), total), (agent_account(agent_id), fee - total)]
    if fee:
        sides.append((FEES, -fee))
    return tuple(Posting(account=account, amount=amount, currency=cost.currency) for account, amount in sides)
