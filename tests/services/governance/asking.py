"""Validation requests for the tests."""

from datetime import UTC, datetime
from typing import Any

from aex_governance.rules.case import Case
from aex_models.governance import ValidationRequest

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
