"""Input of the verification engine, and its result with the facts for governance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from aex_models.criteria import SuccessCriteria, SuccessCriterion
from aex_models.governance import KeywordStats, ReferenceSimilarity
from aex_models.results import VerificationResult
from aex_models.science import ScienceResult
from aex_outcomes.extractors.latency import PLATFORM_LATENCY
from aex_outcomes.extractors.science import SCIENCE

_PLATFORM_KEYS = frozenset({PLATFORM_LATENCY, SCIENCE})
"""Keys of the metadata that only the platform writes; the agent's values under them are dropped."""
MAX_EARLIER = 20
"""Maximum of earlier outputs, the latest ones, that an output is compared with."""


@dataclass(frozen=True, slots=True)
class VerificationInput:
    """Candidate of a contract, with everything that its verdict depends on."""

    contract_id: str
    work_input: Mapping[str, Any]
    work_output: Any
    success_criteria: SuccessCriteria | None
    execution_metadata: Mapping[str, Any]
    evaluation: Mapping[str, Any]
    verification_id: str
    verified_at: datetime
    platform_latency_ms: float | None = None
    candidate_hash: str | None = None
    reasoning: str | None = None
    """The agent's reasoning, which governance reads and the verdict does not."""
    earlier: Mapping[str, str] = field(default_factory=dict)
    """Comparable forms of the contract's earlier outputs (see `build_comparable_form`) by hash, the oldest first."""
    science: ScienceResult | None = None
    """Result of the science gate; None for a work without `science`."""

    @property
    def criteria(self) -> Sequence[SuccessCriterion]:
        """Return the criteria; empty for a work without success criteria."""
        return self.success_criteria.criteria if self.success_criteria else ()

    @property
    def input_with_evaluation(self) -> dict[str, Any]:
        """Return the work's input overlaid by the evaluation data, as extractors get it."""
        return {**self.work_input, **{key: value for key, value in self.evaluation.items() if value is not None}}

    @property
    def metadata_with_measurements(self) -> dict[str, Any]:
        """Return the agent's metadata with the platform's latency and science result, as extractors get them."""
        metadata = {key: value for key, value in self.execution_metadata.items() if key not in _PLATFORM_KEYS}
        if self.platform_latency_ms is not None:
            metadata[PLATFORM_LATENCY] = self.platform_latency_ms
        if self.science is not None:
            metadata[SCIENCE] = self.science.model_dump(mode="json")
        return metadata


@dataclass(frozen=True, slots=True)
class CandidateFacts:
    """Facts about a candidate for governance, which never sees evaluation data itself."""

    contract_id: str
    extracted_metrics: Mapping[str, bool | float | int | None]
    """Values by metric; None for a value that is neither a boolean nor a finite number."""
    execution_metadata: Mapping[str, Any]
    platform_latency_ms: float | None
    output_text: str | None
    """Main text of the output (see `main_text`)."""
    other_text: str | None
    """Reasoning and further strings of the output (see `collect_reasoning_and_other_text`)."""
    structured_form: str | None
    """Form of the output for comparison with later ones (see `build_comparable_form`); None for plain text."""
    similarities: Mapping[str, float]
    """Similarity to each earlier output by its hash, without outputs that cannot be compared."""
    reference_similarity: ReferenceSimilarity | None
    """Similarity to references that the work's input does not contain; None if there are none."""
    keyword_stats: KeywordStats | None
    """Layout of the required terms in the text; None if the work requires none."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """Result of the engine before governance decides."""

    result: VerificationResult
    """Verdict without governance."""
    facts: CandidateFacts
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds that each extractor took, by its section of the configuration."""
