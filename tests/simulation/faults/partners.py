"""Partners of the services over failing networks: governance, sandbox, awards, raw data, a reviewer."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aex_governance.deps import Deps as GovernanceDeps
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_models.contract import Artifact
from aex_models.examination import DataOwner
from aex_models.governance import ValidationDecision, ValidationRequest
from aex_models.science import DataFile, Recommendation, ReviewFailure, ScientificValidity
from aex_models.work import Problem
from aex_outcomes.sandbox.port import CodeFault, FaultKind, SandboxUnavailable
from aex_outcomes.science.peer_review_port import ReviewBrief, Reviewed
from aex_outcomes.science.source_files import SourceFile
from aex_runtime.blobs.port import BlobMissing, Blobs, BlobUnavailable
from aex_runtime.bus.consumer import OUTAGES
from aex_runtime.errors import TemporarilyUnavailable
from aex_verification.ports import (
    FoundAward,
    GovernanceRefused,
    GovernanceUnavailable,
    TrialLost,
    TrialRequest,
    TrialUnavailable,
)
from aex_verification.repository import ARTIFACTS_AREA
from aex_verification.rules.checks import TrialFindings
from aex_verification.spool import FileLost, SpoolUnavailable
from aex_work_publisher.deps import Deps as PublisherDeps
from aex_work_publisher.repository import DATA_AREA
from tests.parts.reviewing import make_accepting_review, make_reviewed
from tests.parts.verification import DirectAwards
from tests.simulation.faults.fate import Crash, Fate

if TYPE_CHECKING:
    from tests.simulation.services import Service

SOUND, ENDLESS, DEADLY = "sound", "endless", "deadly"
"""Custom code in the simulation.

`endless` is refused for its time-out, `deadly` because it kills every worker."""


class SimulatedGovernance:
    """Governance over a network that sometimes fails, before or after the decision."""

    def __init__(self, deps: GovernanceDeps, service: "Service", fate: Fate) -> None:
        self._deps = deps
        self._service = service
        self._fate = fate

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        fate = self._fate
        if fate.is_away("governance") or fate.happens("governance_down"):
            raise GovernanceUnavailable("no answer")
        if fate.happens("governance_refuses"):
            raise GovernanceRefused("500")
        try:
            with self._service.process.inside():
                decision = await validate_outcome(self._deps, request)
        except (Crash, *OUTAGES) as failure:
            raise GovernanceUnavailable("no answer") from failure
        if fate.happens("governance_forgotten"):
            raise GovernanceUnavailable("it has decided, and its answer was lost")
        return decision


class SimulatedAwards:
    """Work-publisher over a network that sometimes fails."""

    def __init__(self, deps: PublisherDeps, fate: Fate) -> None:
        self._awards = DirectAwards(deps)
        self._fate = fate

    async def get(self, contract_id: str) -> FoundAward | None:
        away = TemporarilyUnavailable("work_publisher_unreachable", "Awards cannot be looked up right now")
        if self._fate.happens("awards_away"):
            raise away
        try:
            return await self._awards.get(contract_id)
        except (Crash, *OUTAGES) as failure:
            raise away from failure


class SimulatedTrials:
    """Dry run of code that names its own defect, in a sandbox that is sometimes unavailable."""

    def __init__(self, fate: Fate) -> None:
        self._fate = fate

    async def dry_run(self, request: TrialRequest) -> TrialFindings:
        if self._fate.happens("sandbox_away"):
            raise TrialUnavailable("SandboxUnavailable")
        [metric] = request.evaluation.custom_metrics
        if DEADLY in metric.code:
            raise TrialLost("JobCrashed")
        problem = Problem(path="/evaluation/custom_metrics/0/code", code="custom_metric_timeout", message="too slow")
        return TrialFindings(problems=(problem,) if ENDLESS in metric.code else ())


def find_code_fault(fate: Fate) -> Exception | None:
    """Return the fault that keeps custom code from grading a candidate, or None."""
    if fate.happens("sandbox_away"):
        return SandboxUnavailable("away")
    failed = fate.happens("code_fails")
    return CodeFault(FaultKind.EXCEPTION, "KeyError") if failed else None


class SimulatedSpool:
    """A spool that fetches what is named and writes no file: claims are checked against ranges only."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    @asynccontextmanager
    async def write_temporary_files(
        self, data: Sequence[DataFile | Artifact], artifacts: Sequence[Artifact], _: str = ""
    ) -> AsyncIterator[tuple[SourceFile, ...]]:
        for each in data:
            await self._fetched(DATA_AREA, each.sha256, DataOwner.CONSUMER, each.name)
        for each in artifacts:
            await self._fetched(ARTIFACTS_AREA, each.sha256, DataOwner.AGENT, each.name)
        yield ()

    async def _fetched(self, area: str, digest: str | None, owner: DataOwner, name: str) -> None:
        try:
            await self._blobs.get(area, digest or "")
        except BlobMissing:
            raise FileLost(owner, name, "gone") from None
        except BlobUnavailable as error:
            raise SpoolUnavailable(type(error).__name__) from None


class SimulatedReviewer:
    """Reviewer that accepts most claims, rejects some, and sometimes fails."""

    def __init__(self, fate: Fate) -> None:
        self._fate = fate

    async def review(self, brief: ReviewBrief) -> Reviewed:
        del brief
        if self._fate.happens("reviewer_fails"):
            return make_reviewed(list(ReviewFailure)[self._fate.share(1)])
        if self._fate.share(3):
            return make_reviewed(make_accepting_review())
        return make_reviewed(
            make_accepting_review(scientific_validity=ScientificValidity.INVALID, recommendation=Recommendation.REJECT)
        )
