"""Works, principals and submissions for the tests."""

from datetime import UTC, datetime
from typing import Any

from aex_models.audiences import Audience
from aex_models.governance import Party
from aex_models.work import EvaluationRef, WorkStatus, WorkSubmission
from aex_runtime.identity.principals import Principal
from aex_work_publisher.rules.publication import build_work_record
from aex_work_publisher.rules.records import WorkRecord

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
ACME = Principal("acme", Audience.CONSUMER, "acme-org")
RIVAL = Principal("rival", Audience.CONSUMER)
BOT = Principal("bot", Audience.AGENT)
OTHER_BOT = Principal("other-bot", Audience.AGENT)
FINANCE = Principal("fin", Audience.FINANCE)
OPERATOR = Principal("ops", Audience.OPERATOR)
SERVICE = Principal("service:verification", Audience.SERVICE)
WORK_ID = f"work_{'0' * 32}"
CONTRACT_ID = f"ctr_{'0' * 32}"
REF = EvaluationRef(digest="a" * 64, size=100)

CANARIES = {
    "reference": "canaryone canarytwo canarythree",
    "required_keywords": ["canaryfour"],
    "pattern": "canaryfive",
    "output_schema": {"type": "object", "description": "canarysix"},
    "required_fields": ["canaryseven"],
    "ground_truth": [{"label": "canaryeight", "id": "canarynine"}, "canaryten"],
}
"""Evaluation data that no one but their consumer may ever meet; all begin alike."""

CRITERIA = {
    "criteria": [
        {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.4, "bonus": "0.50"},
        {"metric": "word_count", "metric_type": "count", "comparison": "lte", "threshold": 200, "penalty": "0.10"},
    ]
}


def submission(**changes: Any) -> dict[str, Any]:
    """The body of `POST /v1/work`, less what the test changes."""
    plain: dict[str, Any] = {
        "title": "Summarise",
        "description": "In one paragraph.",
        "input": {"text": "A long text."},
        "evaluation": CANARIES,
        "success_criteria": CRITERIA,
        "budget": {"max_cpc": "1.00", "max_cpa_total": "2", "base_policy": "on_success"},
        "allow_claims": True,
    }
    return {**plain, **changes}


def record(status: WorkStatus | None = None, **changes: Any) -> WorkRecord:
    expected = WorkSubmission.model_validate(submission(**changes))
    made = build_work_record(expected, WORK_ID, Party(id="acme", org="acme-org"), REF, NOW)
    return made.model_copy(update={"work": made.work.model_copy(update={"status": status})}) if status else made


def given(status: WorkStatus = WorkStatus.AWARDED, agent_id: str = "bot") -> WorkRecord:
    return record(status).model_copy(update={"agent_id": agent_id, "contract_id": CONTRACT_ID})
