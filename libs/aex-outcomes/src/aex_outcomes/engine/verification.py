"""The engine that everyone uses: services in their workers, authors on a laptop."""

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from aex_models.contract import Artifact, Candidate, ExecutionMetadata
from aex_models.criteria import SuccessCriteria
from aex_models.governance import ValidationDecision
from aex_models.results import Verdict, VerificationResult
from aex_models.science import Science, ScienceResult
from aex_models.work import Evaluation
from aex_outcomes.catalog import Catalog
from aex_outcomes.clock import Clock, WallClock
from aex_outcomes.config import OutcomeConfig, parse_config
from aex_outcomes.engine.candidate import Assessment, CandidateFacts, Case
from aex_outcomes.engine.extracting import Extracted, Extraction
from aex_outcomes.engine.facts import facts_of
from aex_outcomes.engine.governance import apply_governance, word_of
from aex_outcomes.engine.judging import judge
from aex_outcomes.engine.result_cache import ResultCache
from aex_outcomes.extractors.text_quality import TextQualityExtractor
from aex_outcomes.sandbox.port import Sandbox

if TYPE_CHECKING:
    from aex_outcomes.science.given_files import Content
    from aex_outcomes.science.review.port import PeerReviewer


class Governance(Protocol):
    """Whoever decides whether an outcome is honest."""

    async def validate(self, facts: CandidateFacts) -> ValidationDecision:
        """The decision on one candidate. What it raises, the engine's caller gets."""
        ...


class VerificationEngine:
    """Judges candidates by success criteria. Without governance, bonuses follow success alone."""

    def __init__(
        self,
        config: OutcomeConfig | Mapping[str, Any] | None = None,
        governance: Governance | None = None,
        clock: Clock | None = None,
        sandbox: Sandbox | None = None,
        reviewer: "PeerReviewer | None" = None,
    ) -> None:
        """Raises `InvalidConfig`. `config` may be the mapping of an `outcome-verification.yaml`.

        `sandbox`: where custom metrics run; unless given, each run has a confined worker of its own. `reviewer`: who
        reads the candidates of works that demand `peer_review`; without one, arithmetic alone decides.
        """
        self._config = config if isinstance(config, OutcomeConfig) else parse_config(config)
        self.catalog = Catalog.of(self._config, sandbox)
        own = self.catalog.extractors.get("text_quality")
        self._measure = own if isinstance(own, TextQualityExtractor) else TextQualityExtractor()
        self._reviewer = reviewer
        self._governance = governance if self._config.verification.governance_check else None
        self._clock = clock or WallClock()
        cache = ResultCache(self._config.caching.extractor_results_ttl, time.monotonic)
        self._extraction = Extraction(self.catalog, cache, time.perf_counter)

    async def verify(
        self,
        *,
        contract_id: str,
        work_input: Mapping[str, Any],
        work_output: Any,
        success_criteria: SuccessCriteria | Mapping[str, Any] | None,
        execution_metadata: ExecutionMetadata | Mapping[str, Any] | None = None,
        evaluation: Evaluation | Mapping[str, Any] | None = None,
        platform_latency_ms: float | None = None,
        candidate_hash: str | None = None,
        science: Science | Mapping[str, Any] | None = None,
        domain: str | None = None,
        claimed_values: Mapping[str, float | None] | None = None,
        reasoning: str | None = None,
        artifacts: Sequence[Artifact | Mapping[str, Any]] = (),
        data: "Mapping[str, Content] | None" = None,
    ) -> VerificationResult:
        """The verdict on one candidate, governance's decision included. An indeterminate one is not shown to it.

        `science`: what the work demands, with `domain` the work's where that names none. Then `claimed_values` are held
        against the raw data: the consumer's own in `data` (name → bytes, or the path of a file), and the candidate's
        `artifacts`, with their content. A claim of None, NaN or infinity is a violation, and no data bear it out. Data
        are read in a confined worker of their own.

        Raises `UnknownMetric` for a metric that the catalogue lacks, `InvalidMetricType` for one that a criterion takes
        for what it is not, `TooManyCriteria`, and pydantic's `ValidationError` for criteria (given as a mapping) that
        are not valid, and `UnusableFile` for data that are not here: all of them `ValueError`s. `ExaminationLost` where
        no worker could be had for the data. Everything else that goes wrong is part of the verdict.
        """
        criteria = _criteria(success_criteria)
        self.catalog.check(criteria.criteria if criteria else ())
        candidate = _candidate(work_output, claimed_values or {}, reasoning, artifacts)
        concluded = None
        if science is not None:
            concluded = await self._concluded(Science.model_validate(science), domain, candidate, data or {})
        case = Case(
            contract_id=contract_id,
            work_input=work_input,
            work_output=work_output,
            success_criteria=criteria,
            execution_metadata=_plain(execution_metadata),
            evaluation=_plain(evaluation),
            verification_id=f"ver_{uuid.uuid4().hex}",
            verified_at=self._clock.now(),
            platform_latency_ms=platform_latency_ms,
            candidate_hash=candidate_hash,
            reasoning=reasoning,
            science=concluded,
        )
        result, found = await self._judged(case)
        if self._governance is None or result.verdict is Verdict.INDETERMINATE:
            return result
        decision = await self._governance.validate(self._facts(case, found))
        return apply_governance(result, word_of(decision))

    def check_data(self, science: Science, data: "Mapping[str, Content]") -> None:
        """Whether the files that the work's data name are given, and are the ones that are meant.

        Raises `UnusableFile`, naming them and the fix.
        """
        from aex_outcomes.science.given_files import data_given  # noqa: PLC0415 for works with science

        data_given(science.data, data)

    async def _concluded(
        self, science: Science, domain: str | None, candidate: Candidate, data: "Mapping[str, Content]"
    ) -> ScienceResult:
        from aex_outcomes.science.given_files import artifacts_given, data_given  # noqa: PLC0415 for works with science
        from aex_outcomes.science.limits import DataLimits  # noqa: PLC0415
        from aex_outcomes.science.local import Claimed, LocalScience  # noqa: PLC0415

        files = (*data_given(science.data, data), *artifacts_given(candidate.artifacts))
        claimed = Claimed(candidate.output, candidate.claimed_values, candidate.reasoning, files)
        bounds = self._config.sections()["statistics"].sandbox
        local = LocalScience(bounds, DataLimits.within(bounds), self._reviewer)
        return await local.concluded(science, self.catalog.domain_of(science.domain, domain), claimed)

    async def assess(self, case: Case) -> Assessment:
        """The engine's own verdict and the facts for governance, which is not asked.

        Raises `UnknownMetric`, `InvalidMetricType`, `TooManyCriteria`: before anything is extracted.
        """
        result, found = await self._judged(case)
        return Assessment(result, self._facts(case, found), found.seconds)

    async def _judged(self, case: Case) -> tuple[VerificationResult, Extracted]:
        self.catalog.check(case.criteria)
        found = await self._extraction.extracted(case.criteria, case.task_input, case.work_output, case.metadata)
        return judge(case, found.readings, self.catalog), found

    def _facts(self, case: Case, found: Extracted) -> CandidateFacts:
        """For governance alone: they take as long as the verdict."""
        return facts_of(case, case.criteria, found.readings, self._measure)


def _criteria(given: SuccessCriteria | Mapping[str, Any] | None) -> SuccessCriteria | None:
    return given if given is None or isinstance(given, SuccessCriteria) else SuccessCriteria.model_validate(given)


def _candidate(
    output: Any,
    claims: Mapping[str, float | None],
    reasoning: str | None,
    artifacts: Sequence[Artifact | Mapping[str, Any]],
) -> Candidate:
    files = [each if isinstance(each, Artifact) else dict(each) for each in artifacts]
    claimed = {"claimed_values": dict(claims), "reasoning": reasoning, "artifacts": files}
    return Candidate.model_validate({"output": output, **claimed})


def _plain(given: ExecutionMetadata | Evaluation | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The JSON form: what is None was not given."""
    if given is None or isinstance(given, Mapping):
        return given or {}
    return given.model_dump(mode="json", exclude_none=True)
