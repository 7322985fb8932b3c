"""Functions that build calls of governance: holds, their decisions, fraud rules, agents' records."""

from aex_client.call import Call, build_get, build_path, build_post, encode_json_body, unwrap_single_page
from aex_client.endpoints import Service
from aex_client.views import AgentProfileView, Page
from aex_models.governance import Decision, Hold, HoldCause, HoldStatus, Rule

_GOVERNANCE = Service.GOVERNANCE


def list_holds(
    *,
    status: HoldStatus | str | None = None,
    contract_id: str | None = None,
    agent_id: str | None = None,
    consumer_id: str | None = None,
    cause: HoldCause | str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[Hold]]:
    """List holds, newest first (operator). At most two of agent, consumer and cause may be given."""
    parties = {"agent_id": agent_id, "consumer_id": consumer_id}
    filters = {"status": status, "contract_id": contract_id, **parties, "cause": cause}
    return build_get(_GOVERNANCE, "/v1/holds", Page[Hold], **filters, cursor=cursor, limit=limit)


def get_hold(hold_id: str) -> Call[Hold]:
    """Return a hold by its id (operator)."""
    return build_get(_GOVERNANCE, build_path("/v1/holds/{}", hold_id), Hold)


def decide_hold(hold_id: str, decision: Decision | str, reason: str) -> Call[Hold]:
    """Release, reject or retry a held outcome (operator). The first decision on a hold is final."""
    body = encode_json_body({"decision": decision, "reason": reason})
    return build_post(_GOVERNANCE, build_path("/v1/holds/{}/decision", hold_id), Hold, body)


def list_rules() -> Call[tuple[Rule, ...]]:
    """Return all fraud rules with their thresholds."""
    return unwrap_single_page(build_get(_GOVERNANCE, "/v1/rules", Page[Rule]))


def get_profile(agent_id: str, *, cursor: str | None = None, limit: int | None = None) -> Call[AgentProfileView]:
    """Return an agent's record: totals and a page of its domains.

    Operators may read any agent's record, agents only their own, without flags.
    """
    return build_get(
        _GOVERNANCE, build_path("/v1/agents/{}/profile", agent_id), AgentProfileView, cursor=cursor, limit=limit
    )
