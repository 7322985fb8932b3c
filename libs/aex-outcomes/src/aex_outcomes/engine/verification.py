"""Verification engine: grades candidates by success criteria, in services' workers and on a laptop."""

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from aex_models.clock import Clock, WallClock
from aex_models.contract import Artifact, Candidate, ExecutionMetadata
from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation
from aex_models.governance import ValidationDecision
from aex_models.results import Verdict, VerificationResult
from aex_models.science import Science, ScienceResult
from aex_outcomes.catalog import Catalog
from aex_outcomes.config import OutcomeConfig, parse_config
from aex_outcomes.engine.candidate import Assessment, CandidateFacts, VerificationInput
from aex_outcomes.engine.extraction import Extraction, ExtractionResult, ResultCache
from aex_outcomes.engine.final_result import apply_governance, governance_result
from aex_outcomes.engine.governance_facts import collect_candidate_facts
from aex_outcomes.engine.verdict import decide_verdict
from aex_outcomes.extractors.loading import CodeRunners
from aex_outcomes.extractors.text_quality import TextQualityExtractor
from aex_outcomes.sandbox.port import Sandbox
from aex_outcomes.testing.results import HiddenTestRunner

if TYPE_CHECKING:
    from aex_outcomes.science.peer_review_port import PeerReviewer
    from aex_outcomes.science.source_files import Content


class GovernanceValidator(Protocol):
    """Validator of outcomes against fraud."""

    async def validate(self, facts: CandidateFacts) -> ValidationDecision:
        """Decide whether an outcome is allowed, held or rejected. Exceptions reach the engine's caller."""
        ...


class VerificationEngine:
    """Engine that verifies candidates by success criteria, science gate and, if given, governance."""

    def __init__(
        self,
        config: OutcomeConfig | Mapping[str, Any] | None = None,
        governance: GovernanceValidator | None = None,
        clock: Clock | None = None,
        sandbox: Sandbox | None = None,
        test_runner: HiddenTestRunner | None = None,
        reviewer: "PeerReviewer | None" = None,
    ) -> None:
        """Build an engine and load its extractors. Raises `InvalidConfig`.

        `config`: a parsed configuration or the mapping of an `outcome-verification.yaml`; by default the default one.
        `governance` decides on passed and rejected candidates, unless the configuration turns it off. `sandbox` runs
        custom metrics and `test_runner` hidden tests; by default each run starts a confined worker. `reviewer` makes
        the peer reviews that works demand; if it is None the other checks alone decide.
        """
        self._config = config if isinstance(config, OutcomeConfig) else parse_config(config)
        self.catalog = Catalog.of(self._config, CodeRunners(sandbox, test_runner))
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
        """Verify one candidate, and have governance decide on the result unless it is indeterminate.

        `science`: the work's scientific demands, with `domain` as the default of its domain. With it, `claimed_values`
        are compared with raw data in a confined worker. Raw data are `data`, the consumer's own files (bytes or path by
        name), and the candidate's `artifacts`, which need their content. A claim of None, NaN or infinity is a
        violation.

        Raises subclasses of `ValueError`: `UnknownMetric`, `InvalidMetricType`, `TooManyCriteria`, `UnusableFile` for
        missing data, and pydantic's `ValidationError` for invalid criteria. Raises `ExaminationLost` if no worker can
        examine the data. All other failures are part of the verdict.
        """
        criteria = None if success_criteria is None else SuccessCriteria.model_validate(success_criteria)
        self.catalog.require_supported(criteria.criteria if criteria else ())
        files = [each if isinstance(each, Artifact) else dict(each) for each in artifacts]
        claimed = {"claimed_values": dict(claimed_values or {}), "reasoning": reasoning, "artifacts": files}
        candidate = Candidate.model_validate({"output": work_output, **claimed})
        science_result = None
        if science is not None:
            science_result = await self._conclude_science(
                Science.model_validate(science), domain, candidate, data or {}
            )
        case = VerificationInput(
            contract_id=contract_id,
            work_input=work_input,
            work_output=work_output,
            success_criteria=criteria,
            execution_metadata=_to_mapping(execution_metadata),
            evaluation=_to_mapping(evaluation),
            verification_id=f"ver_{uuid.uuid4().hex}",
            verified_at=self._clock.now(),
            platform_latency_ms=platform_latency_ms,
            candidate_hash=candidate_hash,
            reasoning=reasoning,
            science=science_result,
        )
        result, found = await self._extract_and_decide(case)
        if self._governance is None or result.verdict is Verdict.INDETERMINATE:
            return result
        decision = await self._governance.validate(self._facts(case, found))
        return apply_governance(result, governance_result(decision))

    def require_declared_data(self, science: Science, data: "Mapping[str, Content]") -> None:
        """Raise `UnusableFile` if `data` lacks a file that `science.data` declares, or its digest differs.

        `data`: bytes or path of each file by name.
        """
        from aex_outcomes.science.source_files import verify_consumer_files  # noqa: PLC0415 for works with science

        verify_consumer_files(science.data, data)

    async def _conclude_science(
        self, science: Science, domain: str | None, candidate: Candidate, data: "Mapping[str, Content]"
    ) -> ScienceResult:
        from aex_outcomes.science.confined import DataLimits  # noqa: PLC0415 for works with science
        from aex_outcomes.science.local import CandidateClaims, LocalScience  # noqa: PLC0415 for works with science
        from aex_outcomes.science.source_files import decode_candidate_files, verify_consumer_files  # noqa: PLC0415 for works with science

        files = (*verify_consumer_files(science.data, data), *decode_candidate_files(candidate.artifacts))
        claimed = CandidateClaims(candidate.output, candidate.claimed_values, candidate.reasoning, files)
        bounds = self._config.extractor_sections()["statistics"].sandbox
        local = LocalScience(bounds, DataLimits.from_worker_bounds(bounds), self._reviewer)
        return await local.examine_and_review(science, self.catalog.resolve_domain(science.domain, domain), claimed)

    async def verify_without_governance(self, case: VerificationInput) -> Assessment:
        """Return the engine's verdict without governance, with the facts that governance needs.

        Raises as `Catalog.require_supported`.
        """
        result, found = await self._extract_and_decide(case)
        return Assessment(result, self._facts(case, found), found.seconds)

    async def verify_without_facts(self, case: VerificationInput) -> tuple[VerificationResult, Mapping[str, float]]:
        """Return the engine's verdict without governance, and the seconds of each extractor.

        Raises as `Catalog.require_supported`.
        """
        result, found = await self._extract_and_decide(case)
        return result, found.seconds

    async def _extract_and_decide(self, case: VerificationInput) -> tuple[VerificationResult, ExtractionResult]:
        self.catalog.require_supported(case.criteria)
        found = await self._extraction.extract(
            case.criteria,
            case.input_with_evaluation,
            case.work_output,
            case.metadata_with_measurements,
            case.contract_id,
        )
        return decide_verdict(case, found.readings, self.catalog), found

    def _facts(self, case: VerificationInput, found: ExtractionResult) -> CandidateFacts:
        return collect_candidate_facts(case, found.readings, self._measure)


def _to_mapping(given: ExecutionMetadata | Evaluation | Mapping[str, Any] | None) -> Mapping[str, Any]:
    if given is None or isinstance(given, Mapping):
        return given or {}
    return given.model_dump(mode="json", exclude_none=True)
