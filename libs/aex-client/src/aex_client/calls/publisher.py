"""Functions that build calls of work-publisher: works from their publication to their award."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from aex_client.call import Call, build_get, build_path, build_post, encode_json_body
from aex_client.endpoints import Service
from aex_client.views import Page
from aex_models.contract import Award
from aex_models.work import Work, WorkAnswer, WorkStatus, WorkSubmission, WorkValidation

_PUBLISHER = Service.WORK_PUBLISHER
Submission = WorkSubmission | Mapping[str, Any]


def publish_work(submission: Submission) -> Call[WorkAnswer]:
    """Publish a work (consumer). The answer has the linter's warnings and the quote."""
    return build_post(_PUBLISHER, "/v1/work", WorkAnswer, encode_json_body(submission))


def validate_work(submission: Submission) -> Call[WorkValidation]:
    """Check a work without storing it (consumer). The answer has its problems, warnings and quote."""
    return build_post(
        _PUBLISHER, "/v1/work/validate", WorkValidation, encode_json_body(submission), uses_idempotency_key=False
    )


def list_work(
    *, status: WorkStatus | str | None = None, cursor: str | None = None, limit: int | None = None
) -> Call[Page[Work]]:
    """List works, newest first. A consumer sees its own works, an agent its own and all open works."""
    return build_get(_PUBLISHER, "/v1/work", Page[Work], status=status, cursor=cursor, limit=limit)


def get_work(work_id: str) -> Call[Work]:
    """Return a work. Only its consumer gets the evaluation data."""
    return build_get(_PUBLISHER, build_path("/v1/work/{}", work_id), Work)


def award(work_id: str, agent_id: str, cpc_rate: Decimal | str) -> Call[Award]:
    """Award a work to an agent at the price `cpc_rate`, in the work's currency (the work's consumer)."""
    body = encode_json_body({"agent_id": agent_id, "cpc_rate": cpc_rate})
    return build_post(_PUBLISHER, build_path("/v1/work/{}/award", work_id), Award, body)


def claim(work_id: str) -> Call[Award]:
    """Claim a work that allows claims, at the price `budget.max_cpc` (agent)."""
    return build_post(_PUBLISHER, build_path("/v1/work/{}/claim", work_id), Award)


def cancel_work(work_id: str) -> Call[Work]:
    """Cancel a work that is not awarded yet (the work's consumer)."""
    return build_post(_PUBLISHER, build_path("/v1/work/{}/cancel", work_id), Work)
