"""Interfaces that handlers call: workers, graders, examiners, verifiers, trials, governance, awards."""

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
    """Runner of named jobs: a worker pool or the sandbox."""

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, queue: str = ""
    ) -> dict[str, Any]:
        """Run a job with a JSON payload and return its JSON result; jobs of different queues take turns."""


class SandboxRunner(JobRunner, Protocol):
    """Runner of custom code that a caller can mark as unhealthy."""

    def mark_unhealthy(self) -> None:
        """Make the runner test itself before it runs further jobs."""


class StartedPool(JobRunner, Protocol):
    """Pool of confined workers that has to be started."""

    async def start(self) -> None:
        """Start all workers. Raises `WorkersUnavailable` if any of them cannot be started."""

    async def close(self) -> None:
        """Stop the workers."""


@dataclass(frozen=True, slots=True)
class GradeRequest:
    """Input of grading, for a candidate of a contract or without a contract."""

    contract_id: str
    attempt_id: str
    consumer_id: str
    """Consumer, whose jobs take turns with those of others."""
    success_criteria: SuccessCriteria | None
    work_input: Mapping[str, Any]
    evaluation: Evaluation | None
    output: Any
    execution_metadata: ExecutionMetadata
    platform_latency_ms: float | None
    reasoning: str | None = None
    earlier: Mapping[str, str] = field(default_factory=dict)
    """Texts of the contract's earlier judged outputs by output hash, oldest first."""
    science: ScienceResult | None = None
    """Result of the science gate; None if the work demands no science."""


@dataclass(frozen=True, slots=True)
class Grade:
    """Result of grading, with facts for governance."""

    result: VerificationResult | None
    """Verdict, which may be indeterminate; None if grading failed or the output is invalid."""
    facts: GovernanceFacts = field(default_factory=GovernanceFacts)
    error: str | None = None
    """Kind of the failure; None if there is none."""
    ruling: Ruling | None = None
    """Ruling of the work's named verifier, if it gave one; `result` takes it into account."""


class Grader(Protocol):
    """Grader of candidates that does not block the event loop."""

    async def grade(self, request: GradeRequest) -> Grade:
        """Return the grade. A failed worker gives a grade without result, never an exception."""

    async def grade_together(self, requests: Sequence[GradeRequest]) -> list[Grade] | None:
        """Return the grades of candidates with the same criteria and input, without facts for governance.

        Return None if each has to be graded alone. The default of this method always does.
        """
        del requests
        return None


class RawDataFiles(Protocol):
    """Storage that writes raw data to files for an examination."""

    def write_temporary_files(
        self, data: Sequence[DataFile | Artifact], artifacts: Sequence[Artifact], queue: str = ""
    ) -> AbstractAsyncContextManager[tuple[SourceFile, ...]]:
        """Write the consumer's files, then the agent's, and delete them after the block; queues take turns.

        Raises `FileLost`, `SpoolUnavailable`.
        """


class Examiner(Protocol):
    """Examiner that compares claims with raw data without blocking the event loop."""

    async def examine_with_retries(self, request: ExaminationRequest) -> Examination:
        """Compare claims with raw data and return the findings; unreadable files are findings too.

        If files make workers fail, the comparison is repeated without the agent's files, then without any. Raises
        `ExaminationLost` if the platform fails.
        """


@dataclass(frozen=True, slots=True)
class VerifierRequest:
    """Input of a named verifier, without evaluation data."""

    name: str
    consumer_id: str
    """Consumer, whose jobs take turns with those of others."""
    candidate: Candidate
    agent: AgentContext
    contract_id: str
    work_id: str
    agent_id: str
    attempt_id: str
    deadline: datetime


class VerifierLost(Exception):
    """Error of a named verifier without a ruling: it timed out, crashed or raised, or is unknown.

    The agent is never at fault. The message names only the kind of failure, because the verifier's text may quote
    anything.
    """


class VerifierRunner(Protocol):
    """Runner of the operator's named verifiers that does not block the event loop."""

    async def rule(self, request: VerifierRequest) -> Ruling:
        """Return the verifier's ruling on the candidate. Raises `VerifierLost`."""


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """Input of a trial: custom code and reference of a work, with the criteria they serve."""

    consumer_id: str
    success_criteria: SuccessCriteria | None
    work_input: Mapping[str, Any]
    evaluation: Evaluation


class TrialUnavailable(Exception):
    """Error: custom code cannot run now. The work waits and is not refused."""


class TrialLost(Exception):
    """Error of a trial whose worker ended too early, perhaps because of the code."""


class TrialBroken(Exception):
    """Error of a trial that failed by a defect of the platform; a retry does not help."""


class Trials(Protocol):
    """Runner of trials: a work's custom code and reference are tried before contracts depend on them."""

    async def dry_run(self, request: TrialRequest) -> TrialFindings:
        """Return the trial's problems and warnings.

        Raises `TrialUnavailable`, `TrialLost` and `TrialBroken`.
        """


class GovernanceUnavailable(Exception):
    """Error: governance gave no answer. The attempt waits and is retried."""


class GovernanceRefused(Exception):
    """Error: governance answered without a decision, because it refused the request or failed on it."""


class GovernanceClient(Protocol):
    """Client of governance."""

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        """Return governance's decision on an attempt; a repeat returns the same decision.

        Raises `GovernanceUnavailable`, and `GovernanceRefused` if a retry will hardly help.
        """


@dataclass(frozen=True, slots=True)
class FoundAward:
    """Data of `contract.awarded`, with the W3C trace context of the award if it has one."""

    awarded: ContractAwarded
    traceparent: str | None = None


class Awards(Protocol):
    """Client of work-publisher for awards whose event has not arrived yet."""

    async def get(self, contract_id: str) -> FoundAward | None:
        """Return the award of a contract; None if there is none. Raises `TemporarilyUnavailable`."""
