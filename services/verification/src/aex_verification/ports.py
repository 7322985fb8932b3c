"""Ports of verification: workers, graders, examiners, named verifiers, trials, governance, awards."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from aex_models.contract import Artifact, Candidate, ExecutionMetadata
from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation
from aex_models.events import ContractAwarded
from aex_models.examination import Examination
from aex_models.governance import ValidationDecision, ValidationRequest
from aex_models.results import VerificationResult
from aex_models.science import DataFile, ScienceResult
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.ruling import Ruling
from aex_outcomes.science.confined import ExaminationRequest
from aex_outcomes.science.source_files import SourceFile
from aex_verification.rules.checks import TrialFindings
from aex_verification.rules.records import GovernanceFacts


class JobRunner(Protocol):
    """Runner of named jobs: a worker pool, or the sandbox."""

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, queue: str = ""
    ) -> dict[str, Any]: ...


class SandboxRunner(JobRunner, Protocol):
    """Runner of custom code whose failures a caller may report."""

    def mark_unhealthy(self) -> None: ...


class StartedPool(JobRunner, Protocol):
    """Pool of confined workers; `start` raises `WorkersUnavailable` where no worker can be started."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class GradeRequest:
    """Input of a verdict and its facts, with or without a contract."""

    contract_id: str
    attempt_id: str
    consumer_id: str
    """Jobs of consumers take turns."""
    success_criteria: SuccessCriteria | None
    work_input: Mapping[str, Any]
    evaluation: Evaluation | None
    output: Any
    execution_metadata: ExecutionMetadata
    platform_latency_ms: float | None
    reasoning: str | None = None
    earlier: Mapping[str, str] = field(default_factory=dict)
    """Forms of the contract's earlier judged outputs, by output hash, the oldest first."""
    science: ScienceResult | None = None
    """Result of the science gate; None where the work demands no science."""


@dataclass(frozen=True, slots=True)
class Grade:
    """Result of grading, which may be indeterminate, with facts for governance.

    `result` is None where the engine or the named verifier failed (`error` then names the kind), and where the output
    is invalid.
    """

    result: VerificationResult | None
    facts: GovernanceFacts = field(default_factory=GovernanceFacts)
    error: str | None = None
    ruling: Ruling | None = None
    """Ruling of the work's named verifier, where it came to an end; `result` respects it."""


class Grader(Protocol):
    """Grader of candidates, off the event loop."""

    async def grade(self, request: GradeRequest) -> Grade:
        """Return the grade; a failed worker is a grade without result, never an exception."""


class RawDataFiles(Protocol):
    """Raw data written to files for an examination."""

    def files(
        self, data: Sequence[DataFile | Artifact], artifacts: Sequence[Artifact], queue: str = ""
    ) -> AbstractAsyncContextManager[tuple[SourceFile, ...]]:
        """Write the consumer's files, then the agent's, for the block; queues take turns.

        Raises `FileLost`, `SpoolUnavailable`.
        """


class Examiner(Protocol):
    """Examiner that compares claims with raw data, off the event loop."""

    async def examine(self, request: ExaminationRequest) -> Examination:
        """Return what arithmetic finds; unreadable files are problems in it. Raises `ExaminationLost`."""


@dataclass(frozen=True, slots=True)
class VerifierRequest:
    """Input of a named verifier; it holds no evaluation data."""

    name: str
    consumer_id: str
    """Jobs of consumers take turns."""
    candidate: Candidate
    agent: AgentContext
    contract_id: str
    work_id: str
    agent_id: str
    attempt_id: str
    deadline: datetime


class VerifierLost(Exception):
    """Verifier without a ruling: it ran out of time, died or raised, or its name is unknown.

    Never the agent's fault. The message names the kind alone: the verifier's own text may quote anything.
    """


class VerifierRunner(Protocol):
    """Runner of the operator's registered verifiers, off the event loop."""

    async def rule(self, request: VerifierRequest) -> Ruling:
        """Return the verifier's ruling on the candidate. Raises `VerifierLost`."""


@dataclass(frozen=True, slots=True)
class TrialRequest:
    consumer_id: str
    success_criteria: SuccessCriteria | None
    work_input: Mapping[str, Any]
    evaluation: Evaluation


class TrialUnavailable(Exception):
    """Custom code cannot run now: the work waits, it is never refused for that."""


class TrialLost(Exception):
    """Trial whose worker ended first, perhaps because of the code."""


class TrialBroken(Exception):
    """Trial that failed by a mistake of the platform; a retry does not help."""


class Trials(Protocol):
    """Dry runs of a work's custom code and reference, before a contract pays by them."""

    async def dry_run(self, request: TrialRequest) -> TrialFindings:
        """Return problems and warnings. Raises `TrialUnavailable`, `TrialLost` and `TrialBroken`."""


class GovernanceUnavailable(Exception):
    """Governance without an answer: the attempt waits, it is never skipped."""


class GovernanceRefused(Exception):
    """Governance that answered without a decision: it rejects the request, or fails on it."""


class GovernanceClient(Protocol):
    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        """Return the decision on one attempt, the same for each repeat.

        Raises `GovernanceUnavailable`, and `GovernanceRefused` where a retry will hardly help.
        """


@dataclass(frozen=True, slots=True)
class FoundAward:
    """Data of `contract.awarded`, with the trace that the award began or belongs to."""

    awarded: ContractAwarded
    traceparent: str | None = None


class Awards(Protocol):
    """Read-through to work-publisher for awards whose event has not arrived yet."""

    async def get(self, contract_id: str) -> FoundAward | None:
        """Return the award, None where there is none. Raises `TemporarilyUnavailable`."""
