"""Functions that build calls of settlement: settlements, reversals, breakdowns, export, accounts."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal

from aex_client.call import Call, build_get, build_path, build_post, encode_json_body
from aex_client.endpoints import Service
from aex_client.views import BookingView, Page, SettlementView
from aex_models.corrections import Replacement
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

_SETTLEMENT = Service.SETTLEMENT
Group = Literal["agent", "consumer", "domain", "day", "month"]


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
    """List settlements, newest first: all for finance, else the caller's own.

    `first_day` and `last_day` are UTC and both included.
    """
    query = {"agent_id": agent_id, "consumer_id": consumer_id, "domain": domain, "status": status}
    days = {"from": first_day, "to": last_day}
    return build_get(_SETTLEMENT, "/v1/settlements", Page[SettlementView], **query, **days, cursor=cursor, limit=limit)


def get_settlement(contract_id: str) -> Call[SettlementView]:
    """Return a contract's cost by criterion, with all revisions. Raises `NotFound` until it is settled."""
    return build_get(_SETTLEMENT, build_path("/v1/settlements/{}", contract_id), SettlementView)


def reverse_settlement(
    contract_id: str,
    reason: str,
    *,
    replacement: Replacement | Mapping[str, Any] | None = None,
    revision: int | None = None,
) -> Call[SettlementView]:
    """Reverse a settlement (finance), and post the amounts of `replacement`, if given, as its new cost.

    `revision`: the expected current revision. If another one is current, `Conflict` is raised and nothing is posted.
    """
    given = {"reason": reason, "replacement": replacement, "revision": revision}
    body = encode_json_body({name: value for name, value in given.items() if value is not None})
    return build_post(_SETTLEMENT, build_path("/v1/settlements/{}/reversals", contract_id), SettlementView, body)


def export_settlements(
    *,
    agent_id: str | None = None,
    consumer_id: str | None = None,
    domain: str | None = None,
    currency: str | None = None,
    status: SettlementStatus | str | None = None,
    first_day: date | str | None = None,
    last_day: date | str | None = None,
) -> Call[BookingView]:
    """Return the export of all posted revisions, oldest first. Read it with a client's `rows`.

    `first_day` and `last_day` are UTC and both included.
    """
    parties = {"agent_id": agent_id, "consumer_id": consumer_id, "domain": domain}
    kinds = {"currency": currency, "status": status}
    days = {"from": first_day, "to": last_day}
    return build_get(_SETTLEMENT, "/v1/settlements/export", BookingView, format="jsonl", **parties, **kinds, **days)


def breakdown(
    group_by: Group | Sequence[Group],
    *,
    first_day: date | str | None = None,
    last_day: date | str | None = None,
    currency: str | None = None,
) -> Call[SettlementBreakdown]:
    """Return counts and amounts of settlements by one or two keys, with a total for each currency."""
    groups = [group_by] if isinstance(group_by, str) else list(group_by)
    days = {"from": first_day, "to": last_day}
    path = "/v1/settlements/breakdown"
    return build_get(_SETTLEMENT, path, SettlementBreakdown, group_by=groups, **days, currency=currency)


def trial_balance(*, as_of: datetime | str | None = None) -> Call[TrialBalance]:
    """Return the balances of all accounts at an instant (finance). They sum to zero in each currency."""
    return build_get(_SETTLEMENT, "/v1/trial-balance", TrialBalance, as_of=as_of)


def get_account(account_id: str, *, as_of: datetime | str | None = None) -> Call[Account]:
    """Return the balances of an account such as `consumer:acme`: any for finance, else the caller's own."""
    return build_get(_SETTLEMENT, build_path("/v1/accounts/{}", account_id), Account, as_of=as_of)


def list_account_entries(
    account_id: str,
    *,
    as_of: datetime | str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[AccountEntry]]:
    """List an account's postings, newest first. Amounts are integer micros: + debit, − credit."""
    path = build_path("/v1/accounts/{}/entries", account_id)
    return build_get(_SETTLEMENT, path, Page[AccountEntry], as_of=as_of, cursor=cursor, limit=limit)


def post_transaction(
    kind: TransactionKind | str, postings: Sequence[Posting | Mapping[str, Any]], reason: str
) -> Call[LedgerTransaction]:
    """Post a deposit (cash +, consumer −) or an adjustment (finance).

    Amounts are integer micros that sum to zero in each currency.
    """
    body = encode_json_body({"kind": kind, "postings": list(postings), "reason": reason})
    return build_post(_SETTLEMENT, "/v1/ledger/transactions", LedgerTransaction, body)
