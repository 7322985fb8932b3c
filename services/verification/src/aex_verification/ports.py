"""What verification asks of others: a verdict, governance's word, an award."""

from dataclasses import dataclass
from typing import Protocol

from aex_models.contract import Candidate
from aex_models.events import ContractAwarded
from aex_models.governance import ValidationDecision, ValidationRequest
from aex_models.results import VerificationResult
from aex_models.work import Evaluation
from aex_verification.rules.records import Facts


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """All that a verdict reads."""

    contract_id: str
    attempt_id: str
    awarded: ContractAwarded
    evaluation: Evaluation | None
    candidate: Candidate
    platform_latency_ms: float


@dataclass(frozen=True, slots=True)
class Judgement:
    """A result, which may be indeterminate, and what governance needs beside it.

    `result` is None where the verifier itself broke down; `error` then says how, in a word or two.
    """

    result: VerificationResult | None
    facts: Facts
    error: str | None = None


class Judge(Protocol):
    """Verifies candidates, away from the event loop."""

    async def judge(self, request: JudgeRequest) -> Judgement:
        """Never raises for what a candidate does: a worker that breaks down is an indeterminate judgement."""
        ...


class GovernanceUnavailable(Exception):
    """Governance did not answer: the attempt waits, it is never skipped."""


class Governance(Protocol):
    """Validates outcomes before they become final."""

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        """The decision on one attempt, the same however often it is asked. Raises `GovernanceUnavailable`."""
        ...


class Awards(Protocol):
    """Reads through to work-publisher for an award whose event has not arrived yet."""

    async def get(self, contract_id: str) -> ContractAwarded | None:
        """The award, or None where there is none. Raises `TemporarilyUnavailable`."""
        ...
