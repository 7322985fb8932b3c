"""Validation requests for the tests."""

from datetime import UTC, datetime
from typing import Any

from aex_governance.rules.case import Case
from aex_models.contract import ContractStatus, Terms
from aex_models.governance import ValidationRequest
from aex_models.outcome import BillingImpact, OutcomeRecord

_ZERO = BillingImpact(base=0, bonus=0, penalty=0, total=0)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def asked(**changes: Any) -> ValidationRequest:
    """A request about an honest attempt, less what the test changes."""
    plain: dict[str, Any] = {
        "attempt_id": "att_1",
        "contract_id": "ctr_1",
        "work_id": "work_1",
        "domain": "general",
        "agent": {"id": "bot"},
        "consumer": {"id": "acme"},
        "extracted_metrics": {"rougeL": 0.5, "latency_ms": 900.0},
        "output_hash": "0" * 64,
        "received_at": NOW,
    }
    return ValidationRequest.model_validate({**plain, **changes})


def case(*, history: dict[str, Any] | None = None, **changes: Any) -> Case:
    """The same as a rule sees it: `history` holds the fields of `Case` beside the request."""
    return Case(asked(**changes), **(history or {}))


def an_ended(contract_id: str, status: ContractStatus) -> OutcomeRecord:
    """How a contract of the agent ended, without success."""
    return OutcomeRecord(
        id=f"out_{contract_id}", contract_id=contract_id, work_id="work_1", agent_id="bot", consumer_id="acme",
        domain="general", final_status=status, attempts_used=0, terms=Terms(cpc_rate=0), billing_impact=_ZERO,
        created_at=NOW,
    )  # fmt: skip
