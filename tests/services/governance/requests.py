"""Requests, cases, sightings and outcomes of an honest attempt."""

from datetime import UTC, datetime
from typing import Any

from aex_governance.rules.case import RuleCase
from aex_governance.rules.projection_documents import Sighting
from aex_governance.text.free_text import FreeText, analyze_text
from aex_models.contract import ContractStatus, Terms
from aex_models.governance import ValidationRequest
from aex_models.outcome import BillingImpact, OutcomeRecord
from tests.services.governance.texts import PROSE, hash_of

_ZERO = BillingImpact(base=0, bonus=0, penalty=0, total=0)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FREE = analyze_text(PROSE)
SHORT = FreeText(tokens=12, is_free=False, sketch=None)


def validation_request(**changes: Any) -> ValidationRequest:
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


def numbered_request(number: int, text: str | None = None, **changes: Any) -> ValidationRequest:
    names = {"attempt_id": f"att_{number}", "contract_id": f"ctr_{number}", "work_id": f"work_{number}"}
    plain = {"agent": {"id": f"bot_{number}"}, "output_text": text, "output_hash": hash_of(text or "")}
    return validation_request(**{**names, **plain, **changes})


def case(*, history: dict[str, Any] | None = None, **changes: Any) -> RuleCase:
    """Return the case of a request; `history` has the other fields of `RuleCase`."""
    return RuleCase(validation_request(**changes), **(history or {}))


def outcome_record(contract_id: str, status: ContractStatus, **changes: Any) -> OutcomeRecord:
    plain: dict[str, Any] = {
        **{"id": f"out_{contract_id}", "contract_id": contract_id, "work_id": "work_1", "final_status": status},
        **{"agent_id": "bot", "consumer_id": "acme", "domain": "general", "attempts_used": 0, "created_at": NOW},
        **{"terms": Terms(cpc_rate=0), "billing_impact": _ZERO},
    }
    return OutcomeRecord.model_validate(plain | changes)


def sighting(**changes: Any) -> Sighting:
    """Return a sighting of another agent's output on another work."""
    plain: dict[str, Any] = {
        "agent_id": "rival",
        "consumer_id": "globex",
        "work_id": "work_0",
        "contract_id": "ctr_0",
        "attempt_id": "att_0",
        "output_hash": "0" * 64,
        "seen_at": NOW,
    }
    return Sighting.model_validate({**plain, **changes})
