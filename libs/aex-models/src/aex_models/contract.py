"""Awards, contracts, candidates, attempts and uploaded files."""

import math
from base64 import b64decode
from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, JsonValue, field_validator, model_validator
from pydantic_core import PydanticCustomError

from aex_models.canonical import escape_pointer_segment
from aex_models.frozen import Frozen, Identifier, Instant, MediaType, Sha256, StrictInt
from aex_models.governance import Party
from aex_models.money import ZERO, Currency, Money, Rate
from aex_models.numbers import is_finite_number
from aex_models.results import Verdict, VerificationResult
from aex_models.work import BasePolicy, Budget, FeedbackLevel, Problem


class Terms(Frozen):
    """The monetary terms of a contract, fixed at its award."""

    cpc_rate: Money
    max_cpa_total: Money | None = None
    max_penalty_total: Money | None = None
    base_policy: BasePolicy = BasePolicy.JUDGED
    currency: Currency = "USD"
    fee_rate: Rate = ZERO
    """The platform's share of the total, borne by the agent."""

    @classmethod
    def from_budget(cls, budget: Budget, cpc_rate: Money, fee_rate: Rate = ZERO) -> "Terms":
        """Return the terms for the award of a work with this budget at the price `cpc_rate`."""
        return cls(
            cpc_rate=cpc_rate,
            max_cpa_total=budget.max_cpa_total,
            max_penalty_total=budget.max_penalty_total,
            base_policy=budget.base_policy,
            currency=budget.currency,
            fee_rate=fee_rate,
        )


class AwardRequest(Frozen):
    """A consumer's request to award a work."""

    agent_id: Identifier
    cpc_rate: Money


class Award(Frozen):
    """The award of a work to an agent at a price, with its fixed terms."""

    contract_id: str
    work_id: str
    consumer: Party
    agent_id: Identifier
    cpc_rate: Money
    terms: Terms
    deadline: Instant
    awarded_at: Instant


class ContractStatus(StrEnum):
    """The status of a contract."""

    AWARDED = "awarded"
    VERIFYING = "verifying"
    AWAITING_REVISION = "awaiting_revision"
    HELD = "held"
    PASSED = "passed"
    EXHAUSTED = "exhausted"
    FAILED = "failed"
    EXPIRED = "expired"
    FINALISED = "finalised"
    CANCELLED = "cancelled"


_OPEN = {ContractStatus.AWARDED, ContractStatus.VERIFYING, ContractStatus.AWAITING_REVISION, ContractStatus.HELD}
FINAL_STATUSES = frozenset(ContractStatus) - _OPEN


class CancelCause(StrEnum):
    """The cause of a cancellation that the consumer did not decide."""

    DECLINED = "declined"
    """The agent declined the contract."""


class Contract(Frozen):
    """The state of an awarded contract: its status, its attempts and its deadline."""

    contract_id: str
    work_id: str
    consumer_id: str
    agent_id: str
    status: ContractStatus
    attempts_used: int
    max_attempts: int
    deadline: Instant
    current_attempt: str | None = None
    last_feedback: str | None = None
    cause: CancelCause | None = None
    """Cause of a cancellation by its agent."""
    state_version: int
    awarded_at: Instant
    updated_at: Instant


class ExecutionMetadata(Frozen):
    """An agent's own report about its execution. A missing value is unknown, not zero."""

    model_config = {"extra": "allow"}

    duration_ms: float | None = None
    ttfb_ms: float | None = None
    processing_ms: float | None = None

    @field_validator("duration_ms", "ttfb_ms", "processing_ms", mode="before")
    @classmethod
    def _is_a_number(cls, value: Any) -> Any:
        if value is not None and not is_finite_number(value):
            raise PydanticCustomError("not_a_number", "Expected a finite number of milliseconds")
        return value


def _need(source: str) -> dict[str, JsonValue]:
    return {"required": [source], "properties": {source: {"type": "string"}}}


class Artifact(Frozen):
    """A file of a candidate: inline text, inline base64 or the digest of an earlier upload."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [_need("content"), _need("content_base64"), _need("sha256")]})

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\\\x00-\x1f]+$")]
    media_type: MediaType
    content: str | None = None
    content_base64: str | None = Field(default=None, json_schema_extra={"format": "byte"})
    sha256: Sha256 | None = None

    @field_validator("content_base64")
    @classmethod
    def _decodes(cls, content: str | None) -> str | None:
        try:
            b64decode(content or "", validate=True)
        except ValueError:
            raise PydanticCustomError("invalid_base64", "Not base64") from None
        return content

    @model_validator(mode="after")
    def _check_one_source(self) -> "Artifact":
        if sum(source is not None for source in (self.content, self.content_base64, self.sha256)) != 1:
            raise PydanticCustomError("artifact_source", "Give exactly one of content, content_base64 and sha256")
        return self


def _members(*types: str) -> dict[str, JsonValue]:
    return {"additionalProperties": {"anyOf": [{"type": each} for each in types]}}


class Candidate(Frozen):
    """An agent's answer to a contract: an output, metadata, claims, reasoning and files."""

    output: Any
    execution_metadata: ExecutionMetadata = ExecutionMetadata()
    claimed_metrics: dict[str, Any] = Field(default={}, json_schema_extra=_members("number", "boolean"))
    claimed_values: dict[str, Any] = Field(default={}, json_schema_extra=_members("number", "null"))
    """Claimed numbers, which keep their decimals: 11.170 claims three. None: the claim was no finite number."""
    reasoning: Annotated[str, Field(max_length=200_000)] | None = None
    artifacts: tuple[Artifact, ...] = Field(default=(), max_length=50)

    @field_validator("claimed_metrics")
    @classmethod
    def _metrics_are_numbers_or_booleans(cls, claims: dict[str, Any]) -> dict[str, Any]:
        return _check_claims(
            claims, lambda value: isinstance(value, bool) or is_finite_number(value), "a number or a boolean"
        )

    @field_validator("claimed_values")
    @classmethod
    def _values_are_numbers(cls, claims: dict[str, Any]) -> dict[str, Any]:
        infinite = {name for name, value in claims.items() if isinstance(value, float) and not math.isfinite(value)}
        numbers = claims | dict.fromkeys(infinite)
        return _check_claims(numbers, lambda value: value is None or is_finite_number(value), "a number or null")


def _check_claims(claims: dict[str, Any], fits: Any, kind: str) -> dict[str, Any]:
    for name, value in claims.items():
        if not fits(value):
            raise PydanticCustomError(
                "invalid_claim", "/{name}: expected {kind}", {"name": escape_pointer_segment(name), "kind": kind}
            )
    return claims


class AttemptStatus(StrEnum):
    """The status of an attempt."""

    QUEUED = "queued"
    VERIFYING = "verifying"
    WAITING = "waiting"
    """Waiting for governance, or for a retry after a system error."""
    HELD = "held"
    JUDGED = "judged"
    INVALID = "invalid"


class Attempt(Frozen):
    """A verification of a candidate: its status, verdict, feedback and result."""

    attempt_id: str
    contract_id: str
    candidate_hash: Sha256
    output_hash: Sha256
    status: AttemptStatus
    verdict: Verdict | None = None
    feedback: str | None = None
    counted: bool = False
    replay: bool = False
    errors: tuple[Problem, ...] = ()
    """Reasons why the output does not fit the verifier's output type (only with status `invalid`)."""
    result: VerificationResult | None = None
    candidate: Candidate | None = None
    disclosure: FeedbackLevel = FeedbackLevel.CRITERIA
    """Feedback level of the work: the part of the result that the agent may see."""
    received_at: Instant
    judged_at: Instant | None = None
    system_retries: StrictInt = 0


MAX_UPLOAD_BYTES = 100_000_000
MAX_INLINE_BYTES = 5_000_000
"""Maximum size of an artifact inside a candidate, decoded. A larger file is uploaded first."""
MAX_TOTAL_BYTES = 500_000_000
"""Maximum size of all files of a work or candidate together: they are on disk at the same time."""


class UploadedArtifact(Frozen):
    """The answer to an upload. A work or a candidate refers to the file by its `sha256`."""

    sha256: Sha256
    size: int
    """In bytes."""
