"""Limits of a candidate's artifacts and claims, and the context that a named verifier receives."""

from collections.abc import Mapping, Sequence
from typing import Any

from aex_models.canonical import NotCanonical
from aex_models.contract import MAX_INLINE_BYTES, MAX_TOTAL_BYTES, Artifact, Candidate
from aex_models.frozen import Frozen, Instant, Sha256
from aex_models.work import Problem, Work
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.state import ContractState
from aex_runtime.errors import InvalidRequest
from aex_verification.rules.records import AttemptRow

MAX_CLAIMS = 500
"""Claimed values of a candidate; each may become a mismatch and a violation in results and events."""


class ArtifactUse(Frozen):
    """Record that a candidate names an upload, by which a paying consumer may read the upload."""

    digest: Sha256
    size: int
    contract_id: str
    attempt_id: str
    consumer_id: str
    used_at: Instant


def find_artifact_problems(artifacts: Sequence[Artifact]) -> list[Problem]:
    """Return a problem for each duplicate name, and for inline content that is too large.

    Uploads are not checked here. Any media type is allowed; files that no statistic reads are attachments.
    """
    problems: list[Problem] = []
    names: set[str] = set()
    for position, artifact in enumerate(artifacts):
        if artifact.name in names:
            message = "Another artifact has this name; a statistic names its file by it"
            problems.append(Problem(path=f"/artifacts/{position}/name", code="duplicate_name", message=message))
        names.add(artifact.name)
        if compute_inline_size_bytes(artifact) > MAX_INLINE_BYTES:
            field = "content" if artifact.content is not None else "content_base64"
            limit = f"At most {MAX_INLINE_BYTES // 1_000_000} MB inline"
            message = f"{limit}; upload it with PUT /v1/artifacts and give its sha256 instead"
            problems.append(Problem(path=f"/artifacts/{position}/{field}", code="artifact_too_large", message=message))
    return problems


def find_size_problems(artifacts: Sequence[Artifact], uploaded_bytes: int) -> list[Problem]:
    """Return a problem if artifacts are too large in total; `uploaded_bytes` is the size of uploads."""
    if uploaded_bytes + sum(map(compute_inline_size_bytes, artifacts)) <= MAX_TOTAL_BYTES:
        return []
    message = f"At most {MAX_TOTAL_BYTES // 1_000_000} MB of artifacts in all"
    return [Problem(path="/artifacts", code="artifacts_too_large", message=message)]


def compute_inline_size_bytes(artifact: Artifact) -> int:
    """Return the decoded size of an artifact's inline content in bytes; 0 if it has none."""
    if artifact.content_base64 is not None:
        encoded = artifact.content_base64
        return len(encoded) // 4 * 3 - (len(encoded) - len(encoded.rstrip("=")))
    text = artifact.content or ""
    return len(text) if text.isascii() else len(text.encode())


def make_not_canonical_refusal(error: NotCanonical) -> InvalidRequest:
    """Return the refusal of a candidate with a value that I-JSON cannot hold, with the value's pointer."""
    return InvalidRequest(
        "not_canonical",
        "The candidate holds a value that JSON cannot carry safely",
        [Problem(path=error.path, code="not_canonical", message=error.problem)],
    )


def require_claims_within_limit(claims: Mapping[str, Any]) -> None:
    """Raise `InvalidRequest` for more than `MAX_CLAIMS` claimed values."""
    if len(claims) > MAX_CLAIMS:
        code, message = "too_many_claims", f"At most {MAX_CLAIMS} claimed values"
        raise InvalidRequest(code, message, [Problem(path="/claimed_values", code=code, message=message)])


def make_agent_context(work: Work, state: ContractState, attempt: AttemptRow, candidate: Candidate) -> AgentContext:
    """Return the context of a named verifier: the agent's input, last feedback and attempt number.

    A candidate that an operator retries keeps its former number.
    """
    before = state.verification.judged.get(attempt.candidate_hash)
    messages = [] if state.last_feedback is None else [{"role": "user", "content": state.last_feedback}]
    return AgentContext(
        query=work.input,
        messages=messages,
        turn=state.received,
        output=candidate.output,
        attempt=before.ordinal if before else state.verification.attempts_used + 1,
        verification=state.verification,
    )
