"""What verification asks of others: verdicts, examinations, rulings of named verifiers, trials, governance's word."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from aex_models.contract import Artifact, Candidate, ExecutionMetadata
from aex_models.criteria import SuccessCriteria
from aex_models.events import ContractAwarded
from aex_models.examination import Examination
from aex_models.governance import ValidationDecision, ValidationRequest
from aex_models.results import VerificationResult
from aex_models.science import DataFile, ScienceResult
from aex_models.work import Evaluation
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.ruling import Ruling
from aex_outcomes.science.confined import ExaminationRequest
from aex_outcomes.science.source import SourceFile
from aex_verification.rules.checks import Findings
from aex_verification.rules.records import Facts


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """All that a verdict and its facts read: of a contract's candidate, or of one that is tried without a contract."""

    contract_id: str
    attempt_id: str
    consumer_id: str
    """Whose jobs take turns with those of others."""
    success_criteria: SuccessCriteria | None
    work_input: Mapping[str, Any]
    evaluation: Evaluation | None
    output: Any
    execution_metadata: ExecutionMetadata
    platform_latency_ms: float | None
    reasoning: str | None = None
    earlier: Mapping[str, str] = field(default_factory=dict)
    """By output hash, the oldest first: what the contract's earlier judged candidates put out (`Facts.form`)."""
    science: ScienceResult | None = None
    """What the science gate concluded of the candidate; None where the work demands no science."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A result, which may be indeterminate, and what governance needs beside it.

    `result` is None where the engine or the work's named verifier broke down (`error` then says how, in a word or
    two), and where the output is invalid.
    """

    result: VerificationResult | None
    facts: Facts
    error: str | None = None
    ruling: Ruling | None = None
    """What the work's named verifier said, where it has one and it came to an end; `result` respects it."""


class Judge(Protocol):
    """Verifies candidates, away from the event loop."""

    async def judge(self, request: JudgeRequest) -> Judgement:
        """Never raises for what a candidate does: a worker that breaks down is an indeterminate judgement."""
        ...


class RawData(Protocol):
    """Raw data as files, for whoever reads them."""

    def files(
        self, data: Sequence[DataFile | Artifact], artifacts: Sequence[Artifact]
    ) -> AbstractAsyncContextManager[tuple[SourceFile, ...]]:
        """The consumer's files, then the agent's, until the block ends. Raises `FileLost`, `SpoolUnavailable`."""
        ...


class Examiner(Protocol):
    """Holds claims against raw data, away from the event loop."""

    async def examine(self, request: ExaminationRequest) -> Examination:
        """What arithmetic finds; files that no worker could read are problems in it. Raises `ExaminationLost`."""
        ...


@dataclass(frozen=True, slots=True)
class VerifierRequest:
    """All that a named verifier is told of an attempt: no evaluation data are among it."""

    name: str
    consumer_id: str
    """Whose jobs take turns with those of others."""
    candidate: Candidate
    agent: AgentContext
    contract_id: str
    work_id: str
    agent_id: str
    attempt_id: str
    deadline: datetime


class VerifierLost(Exception):
    """The verifier came to no ruling: it ran out of time, died or raised, or there is none of that name.

    Never the agent's fault. The message names the kind alone: what a verifier raises may quote anything.
    """


class Verifiers(Protocol):
    """The verifiers that the operator registered, run away from the event loop."""

    async def rule(self, request: VerifierRequest) -> Ruling:
        """What the verifier says of the candidate. Raises `VerifierLost`."""
        ...


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """All that a work's dry run reads."""

    consumer_id: str
    success_criteria: SuccessCriteria | None
    work_input: Mapping[str, Any]
    evaluation: Evaluation


class TrialUnavailable(Exception):
    """Nobody can run custom code now: the work waits, it is never refused for that."""


class TrialLost(Exception):
    """The worker of a trial came to its end before the trial did: perhaps the code's doing, perhaps not."""


class TrialBroken(Exception):
    """The trial itself failed: a mistake of ours, which no repeat mends."""


class Trials(Protocol):
    """Tries a work's custom code, and its reference, before anybody is paid by them."""

    async def dry_run(self, request: TrialRequest) -> Findings:
        """What is wrong and what is odd. Raises `TrialUnavailable`, `TrialLost` and `TrialBroken`."""
        ...


class GovernanceUnavailable(Exception):
    """Governance did not answer: the attempt waits, it is never skipped."""


class GovernanceRefused(Exception):
    """Governance answered, but gave no decision: it does not take this question, or breaks on it."""


class Governance(Protocol):
    """Validates outcomes before they become final."""

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        """The decision on one attempt, the same however often it is asked.

        Raises `GovernanceUnavailable`, and `GovernanceRefused` where asking again will hardly help.
        """
        ...


@dataclass(frozen=True, slots=True)
class FoundAward:
    """What `contract.awarded` carries, with the trace that the award began or belongs to."""

    awarded: ContractAwarded
    traceparent: str | None = None


class Awards(Protocol):
    """Reads through to work-publisher for an award whose event has not arrived yet."""

    async def get(self, contract_id: str) -> FoundAward | None:
        """The award, or None where there is none. Raises `TemporarilyUnavailable`."""
        ...
