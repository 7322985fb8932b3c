"""Every endpoint, once: its path, what it takes, what it answers. Both clients offer these functions as methods."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

from aex_client.call import Call, get, items_of, json_body, numbers_body, place, post, query_of
from aex_client.endpoints import Service
from aex_client.views import AttemptView, OutcomeView, Page, SettlementView
from aex_models.catalog import MetricEntry
from aex_models.contract import Artifact, Award, Contract, ContractStatus
from aex_models.governance import Decision, Hold, HoldStatus, Rule
from aex_models.settlement import (
    Account,
    AccountEntry,
    LedgerTransaction,
    Posting,
    SettlementBreakdown,
    SettlementStatus,
    TransactionKind,
    TrialBalance,
)
from aex_models.work import Work, WorkAnswer, WorkStatus, WorkSubmission, WorkValidation

_PUBLISHER, _VERIFICATION = Service.WORK_PUBLISHER, Service.VERIFICATION
_GOVERNANCE, _SETTLEMENT = Service.GOVERNANCE, Service.SETTLEMENT

Submission = WorkSubmission | Mapping[str, Any]
Group = Literal["agent", "consumer", "domain", "day", "month"]

# work-publisher


def publish_work(submission: Submission) -> Call[WorkAnswer]:
    """Publish a work (consumer). Answers with the linter's warnings and the quote."""
    return post(_PUBLISHER, "/v1/work", WorkAnswer, json_body(submission))


def validate_work(submission: Submission) -> Call[WorkValidation]:
    """What publishing would say, all problems at once; stores nothing (consumer)."""
    return post(_PUBLISHER, "/v1/work/validate", WorkValidation, json_body(submission), once=False)


def list_work(
    *, status: WorkStatus | str | None = None, cursor: str | None = None, limit: int | None = None
) -> Call[Page[Work]]:
    """The caller's works, newest first; an agent's with all that are open."""
    return get(_PUBLISHER, "/v1/work", Page[Work], status=status, cursor=cursor, limit=limit)


def get_work(work_id: str) -> Call[Work]:
    """One work; its evaluation data for its consumer alone."""
    return get(_PUBLISHER, place("/v1/work/{}", work_id), Work)


def award(work_id: str, agent_id: str, cpc_rate: Decimal | str) -> Call[Award]:
    """Give a work to an agent at a price (its consumer). `cpc_rate` is an amount in the work's currency."""
    body = json_body({"agent_id": agent_id, "cpc_rate": cpc_rate})
    return post(_PUBLISHER, place("/v1/work/{}/award", work_id), Award, body)


def claim(work_id: str) -> Call[Award]:
    """Take a work that allows claims, at its `budget.max_cpc` (agent)."""
    return post(_PUBLISHER, place("/v1/work/{}/claim", work_id), Award)


def cancel_work(work_id: str) -> Call[Work]:
    """Withdraw a work before an award (its consumer)."""
    return post(_PUBLISHER, place("/v1/work/{}/cancel", work_id), Work)


# verification


def list_contracts(
    *, status: ContractStatus | str | None = None, cursor: str | None = None, limit: int | None = None
) -> Call[Page[Contract]]:
    """The caller's contracts, newest first; an operator's are all."""
    return get(_VERIFICATION, "/v1/contracts", Page[Contract], status=status, cursor=cursor, limit=limit)


def get_contract(contract_id: str) -> Call[Contract]:
    """One contract."""
    return get(_VERIFICATION, place("/v1/contracts/{}", contract_id), Contract)


def submit_output(
    contract_id: str,
    output: Any,
    *,
    execution_metadata: Mapping[str, Any] | None = None,
    claimed_metrics: Mapping[str, Any] | None = None,
    claimed_values: Mapping[str, Any] | None = None,
    reasoning: str | None = None,
    artifacts: Sequence[Artifact | Mapping[str, Any]] = (),
    wait_s: float = 0.0,
) -> Call[AttemptView]:
    """Post a candidate (the contract's agent), and wait for its verdict for up to `wait_s` seconds (at most 30).

    The answer may come without a verdict; `get_attempt` tells it later. Claims are numbers; a `Decimal` among them
    keeps its digits.
    """
    parts = {"output": json_body(output)}
    parts |= {"execution_metadata": json_body(execution_metadata)} if execution_metadata is not None else {}
    parts |= {"claimed_metrics": numbers_body(claimed_metrics)} if claimed_metrics is not None else {}
    parts |= {"claimed_values": numbers_body(claimed_values)} if claimed_values is not None else {}
    parts |= {"reasoning": json_body(reasoning)} if reasoning is not None else {}
    parts |= {"artifacts": json_body(list(artifacts))} if artifacts else {}
    body = b"{" + b",".join(b'"%s":%s' % (name.encode(), part) for name, part in parts.items()) + b"}"
    call = post(_VERIFICATION, place("/v1/contracts/{}/outputs", contract_id), AttemptView, body)
    return replace(call, query=query_of({"wait_s": wait_s or None}), wait_s=wait_s)


def list_attempts(contract_id: str, *, cursor: str | None = None, limit: int | None = None) -> Call[Page[AttemptView]]:
    """A contract's attempts, oldest first."""
    path = place("/v1/contracts/{}/attempts", contract_id)
    return get(_VERIFICATION, path, Page[AttemptView], cursor=cursor, limit=limit)


def get_attempt(contract_id: str, attempt_id: str) -> Call[AttemptView]:
    """One attempt."""
    return get(_VERIFICATION, place("/v1/contracts/{}/attempts/{}", contract_id, attempt_id), AttemptView)


def finalize(contract_id: str) -> Call[Contract]:
    """Settle early with the best judged candidate (the contract's agent)."""
    return post(_VERIFICATION, place("/v1/contracts/{}/finalize", contract_id), Contract)


def cancel_contract(contract_id: str) -> Call[Contract]:
    """Cancel before the first candidate is received (the contract's consumer)."""
    return post(_VERIFICATION, place("/v1/contracts/{}/cancel", contract_id), Contract)


def list_outcomes(*, cursor: str | None = None, limit: int | None = None) -> Call[Page[OutcomeView]]:
    """Outcomes, newest first: the caller's own, finance's and operators' are all."""
    return get(_VERIFICATION, "/v1/outcomes", Page[OutcomeView], cursor=cursor, limit=limit)


def get_outcome(contract_id: str) -> Call[OutcomeView]:
    """The outcome of one contract; not there until the contract is final."""
    return get(_VERIFICATION, place("/v1/outcomes/{}", contract_id), OutcomeView)


def metrics_catalog() -> Call[tuple[MetricEntry, ...]]:
    """Every metric that a criterion may name."""
    return items_of(get(_VERIFICATION, "/v1/metrics/catalog", Page[MetricEntry]))


# governance


def list_holds(
    *, status: HoldStatus | str | None = None, cursor: str | None = None, limit: int | None = None
) -> Call[Page[Hold]]:
    """Held outcomes, newest first (operator)."""
    return get(_GOVERNANCE, "/v1/holds", Page[Hold], status=status, cursor=cursor, limit=limit)


def get_hold(hold_id: str) -> Call[Hold]:
    """One hold (operator)."""
    return get(_GOVERNANCE, place("/v1/holds/{}", hold_id), Hold)


def decide_hold(hold_id: str, decision: Decision | str, reason: str) -> Call[Hold]:
    """Release, reject or retry a held outcome (operator). The first decision wins."""
    body = json_body({"decision": decision, "reason": reason})
    return post(_GOVERNANCE, place("/v1/holds/{}/decision", hold_id), Hold, body)


def list_rules() -> Call[tuple[Rule, ...]]:
    """Every fraud rule, with its thresholds."""
    return items_of(get(_GOVERNANCE, "/v1/rules", Page[Rule]))


# settlement


def list_settlements(
    *,
    agent_id: str | None = None,
    consumer_id: str | None = None,
    domain: str | None = None,
    status: SettlementStatus | str | None = None,
    first_day: date | str | None = None,
    last_day: date | str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[SettlementView]]:
    """Settlements, newest first: finance all, others their own. Days are UTC and included."""
    query = {"agent_id": agent_id, "consumer_id": consumer_id, "domain": domain, "status": status}
    days = {"from": first_day, "to": last_day}
    return get(_SETTLEMENT, "/v1/settlements", Page[SettlementView], **query, **days, cursor=cursor, limit=limit)


def get_settlement(contract_id: str) -> Call[SettlementView]:
    """What a contract cost, line by line, with all its revisions; not there until it is settled."""
    return get(_SETTLEMENT, place("/v1/settlements/{}", contract_id), SettlementView)


def breakdown(
    group_by: Group | Sequence[Group],
    *,
    first_day: date | str | None = None,
    last_day: date | str | None = None,
    currency: str | None = None,
) -> Call[SettlementBreakdown]:
    """Counts and amounts by one or two of agent, consumer, domain, day, month; with a total for each currency."""
    groups = [group_by] if isinstance(group_by, str) else list(group_by)
    days = {"from": first_day, "to": last_day}
    path = "/v1/settlements/breakdown"
    return get(_SETTLEMENT, path, SettlementBreakdown, group_by=groups, **days, currency=currency)


def trial_balance(*, as_of: datetime | str | None = None) -> Call[TrialBalance]:
    """All accounts at an instant (finance). Sums to zero in each currency."""
    return get(_SETTLEMENT, "/v1/trial-balance", TrialBalance, as_of=as_of)


def get_account(account_id: str, *, as_of: datetime | str | None = None) -> Call[Account]:
    """An account's balance in each currency: finance any, others their own. Such as `consumer:acme`."""
    return get(_SETTLEMENT, place("/v1/accounts/{}", account_id), Account, as_of=as_of)


def list_account_entries(
    account_id: str,
    *,
    as_of: datetime | str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[AccountEntry]]:
    """An account's postings, newest first; amounts are integer micros, + debit, − credit."""
    path = place("/v1/accounts/{}/entries", account_id)
    return get(_SETTLEMENT, path, Page[AccountEntry], as_of=as_of, cursor=cursor, limit=limit)


def post_transaction(
    kind: TransactionKind | str, postings: Sequence[Posting | Mapping[str, Any]], reason: str
) -> Call[LedgerTransaction]:
    """Post a deposit (cash +, consumer −) or an adjustment (finance). Amounts are integer micros; they sum to zero."""
    body = json_body({"kind": kind, "postings": list(postings), "reason": reason})
    return post(_SETTLEMENT, "/v1/ledger/transactions", LedgerTransaction, body)
