"""Functions that build calls of verification: contracts, candidates, outcomes, domains, metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from aex_client.call import (
    Call,
    build_get,
    build_path,
    build_post,
    encode_claims,
    encode_json_body,
    encode_query,
    unwrap_single_page,
)
from aex_client.endpoints import Service
from aex_client.views import AttemptView, OutcomeView, Page, VerificationView
from aex_models.catalog import MetricEntry
from aex_models.contract import Artifact, Contract, ContractStatus
from aex_models.criteria import SuccessCriteria
from aex_models.domains import Domain, DomainGuess
from aex_models.evaluation import Evaluation
from aex_models.rollout import RolloutResponse
from aex_models.science import Science

_VERIFICATION = Service.VERIFICATION


def list_contracts(
    *,
    work_id: str | None = None,
    status: ContractStatus | str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[Contract]]:
    """List contracts, newest first: all for an operator, else the caller's own."""
    filters = {"work_id": work_id, "status": status}
    return build_get(_VERIFICATION, "/v1/contracts", Page[Contract], **filters, cursor=cursor, limit=limit)


def get_contract(contract_id: str) -> Call[Contract]:
    """Return a contract."""
    return build_get(_VERIFICATION, build_path("/v1/contracts/{}", contract_id), Contract)


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
    """Post a candidate (the contract's agent) and wait up to `wait_s` seconds (at most 30) for a verdict.

    If the answer has no verdict yet, `get_attempt` returns it later. A `Decimal` among the claims keeps its digits.
    """
    candidate = _encode_candidate(output, execution_metadata, claimed_metrics, claimed_values, reasoning, artifacts)
    body = _join(candidate)
    call = build_post(_VERIFICATION, build_path("/v1/contracts/{}/outputs", contract_id), AttemptView, body)
    return replace(call, query=encode_query({"wait_s": wait_s or None}), wait_s=wait_s)


def verify(
    success_criteria: SuccessCriteria | Mapping[str, Any] | None,
    output: Any,
    *,
    input: Mapping[str, Any] | None = None,  # noqa: A002 the field's name
    evaluation: Evaluation | Mapping[str, Any] | None = None,
    domain: str | None = None,
    science: Science | Mapping[str, Any] | None = None,
    data: Sequence[Artifact | Mapping[str, Any]] = (),
    platform_latency_ms: float | None = None,
    execution_metadata: Mapping[str, Any] | None = None,
    claimed_metrics: Mapping[str, Any] | None = None,
    claimed_values: Mapping[str, Any] | None = None,
    reasoning: str | None = None,
    artifacts: Sequence[Artifact | Mapping[str, Any]] = (),
) -> Call[VerificationView]:
    """Verify an output without a contract (consumer). The verdict is neither stored nor charged.

    `success_criteria` may be None if `science` is given. `data` and `artifacts` must hold their content inline.
    """
    own = {
        "success_criteria": success_criteria,
        "input": input,
        "evaluation": evaluation,
        "domain": domain,
        "science": science,
        "data": list(data) or None,
        "platform_latency_ms": platform_latency_ms,
    }
    parts = {name: encode_json_body(value) for name, value in own.items() if value is not None}
    parts |= _encode_candidate(output, execution_metadata, claimed_metrics, claimed_values, reasoning, artifacts)
    return build_post(_VERIFICATION, "/v1/verify", VerificationView, _join(parts), uses_idempotency_key=False)


def _encode_candidate(
    output: Any,
    execution_metadata: Mapping[str, Any] | None,
    claimed_metrics: Mapping[str, Any] | None,
    claimed_values: Mapping[str, Any] | None,
    reasoning: str | None,
    artifacts: Sequence[Artifact | Mapping[str, Any]],
) -> dict[str, bytes]:
    """Return the members of a candidate's body, each encoded as JSON; claims keep their digits."""
    parts = {"output": encode_json_body(output)}
    parts |= {"execution_metadata": encode_json_body(execution_metadata)} if execution_metadata is not None else {}
    parts |= {"claimed_metrics": encode_claims(claimed_metrics)} if claimed_metrics is not None else {}
    parts |= {"claimed_values": encode_claims(claimed_values)} if claimed_values is not None else {}
    parts |= {"reasoning": encode_json_body(reasoning)} if reasoning is not None else {}
    return parts | ({"artifacts": encode_json_body(list(artifacts))} if artifacts else {})


def _join(parts: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join(b'"%s":%s' % (name.encode(), part) for name, part in parts.items()) + b"}"


def list_attempts(contract_id: str, *, cursor: str | None = None, limit: int | None = None) -> Call[Page[AttemptView]]:
    """List a contract's attempts, oldest first."""
    path = build_path("/v1/contracts/{}/attempts", contract_id)
    return build_get(_VERIFICATION, path, Page[AttemptView], cursor=cursor, limit=limit)


def get_attempt(contract_id: str, attempt_id: str) -> Call[AttemptView]:
    """Return an attempt of a contract, with its verdict once it is judged."""
    return build_get(_VERIFICATION, build_path("/v1/contracts/{}/attempts/{}", contract_id, attempt_id), AttemptView)


def finalize(contract_id: str) -> Call[Contract]:
    """End a contract early with the best judged candidate (the contract's agent)."""
    return build_post(_VERIFICATION, build_path("/v1/contracts/{}/finalize", contract_id), Contract)


def cancel_contract(contract_id: str) -> Call[Contract]:
    """Cancel a contract before its first candidate is received (the contract's consumer)."""
    return build_post(_VERIFICATION, build_path("/v1/contracts/{}/cancel", contract_id), Contract)


def decline_contract(contract_id: str) -> Call[Contract]:
    """Decline a contract before its first candidate (the contract's agent).

    The contract is cancelled and nothing is paid.
    """
    return build_post(_VERIFICATION, build_path("/v1/contracts/{}/decline", contract_id), Contract)


def list_outcomes(
    *,
    agent_id: str | None = None,
    consumer_id: str | None = None,
    work_id: str | None = None,
    domain: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[OutcomeView]]:
    """List outcomes, newest first: all for an operator, else the caller's own. At most two filters."""
    filters = {"agent_id": agent_id, "consumer_id": consumer_id, "work_id": work_id, "domain": domain}
    return build_get(_VERIFICATION, "/v1/outcomes", Page[OutcomeView], **filters, cursor=cursor, limit=limit)


def get_outcome(contract_id: str) -> Call[OutcomeView]:
    """Return the outcome of a contract. Raises `NotFound` until the contract has ended."""
    return build_get(_VERIFICATION, build_path("/v1/outcomes/{}", contract_id), OutcomeView)


def export_outcomes(
    *,
    agent_id: str | None = None,
    consumer_id: str | None = None,
    domain: str | None = None,
    first_day: date | str | None = None,
    last_day: date | str | None = None,
) -> Call[OutcomeView]:
    """Return the export of all outcomes, oldest first. Read it with a client's `rows`.

    `first_day` and `last_day` are UTC and both included.
    """
    parties = {"agent_id": agent_id, "consumer_id": consumer_id, "domain": domain}
    days = {"from": first_day, "to": last_day}
    return build_get(_VERIFICATION, "/v1/outcomes/export", OutcomeView, format="jsonl", **parties, **days)


def export_rollouts(
    *,
    agent_id: str | None = None,
    consumer_id: str | None = None,
    domain: str | None = None,
    first_day: date | str | None = None,
    last_day: date | str | None = None,
) -> Call[RolloutResponse]:
    """Return the export of outcomes as rollouts, oldest first. Read it with a client's `rows`.

    Outcomes whose score the caller may not see are left out. `first_day` and `last_day` are UTC and both included.
    """
    parties = {"agent_id": agent_id, "consumer_id": consumer_id, "domain": domain}
    days = {"from": first_day, "to": last_day}
    return build_get(_VERIFICATION, "/v1/outcomes/export", RolloutResponse, format="rollouts", **parties, **days)


def metrics_catalog() -> Call[tuple[MetricEntry, ...]]:
    """Return all metrics that a criterion may name."""
    return unwrap_single_page(build_get(_VERIFICATION, "/v1/metrics/catalog", Page[MetricEntry]))


def domains() -> Call[tuple[Domain, ...]]:
    """Return all scientific domains that the platform knows, in order of their names."""
    return unwrap_single_page(build_get(_VERIFICATION, "/v1/domains", Page[Domain]))


def domain(name: str) -> Call[Domain]:
    """Return a scientific domain by its name or an alias."""
    return build_get(_VERIFICATION, build_path("/v1/domains/{}", name), Domain)


def infer_domain(text: str = "", columns: Sequence[str] = ()) -> Call[DomainGuess]:
    """Infer the scientific domain of a text and column names.

    At most 2,000 columns and 50,000 characters in all.
    """
    body = encode_json_body({"text": text, "columns": list(columns)})
    return build_post(_VERIFICATION, "/v1/domains/infer", DomainGuess, body, uses_idempotency_key=False)
