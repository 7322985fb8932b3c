"""The input of the engine, and its result with the facts for governance."""

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
"""Keys of the metadata that the platform alone writes."""
MAX_EARLIER = 20
"""The number of latest earlier outputs that an output is compared with."""


@dataclass(frozen=True, slots=True)
class VerificationInput:
    """A candidate of a contract, with everything that its verdict depends on."""

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
    """The agent's reasoning: read by governance, not by the verdict."""
    earlier: Mapping[str, str] = field(default_factory=dict)
    """Output hash → form of an earlier candidate's output, the oldest first."""
    science: ScienceResult | None = None
    """The result of the science gate, for a work with science."""

    @property
    def criteria(self) -> Sequence[SuccessCriterion]:
        return self.success_criteria.criteria if self.success_criteria else ()

    @property
    def task_input(self) -> dict[str, Any]:
        """Return the input overlaid by the evaluation data, as extractors read it."""
        return {**self.work_input, **{key: value for key, value in self.evaluation.items() if value is not None}}

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the agent's metadata with the platform's own measurements and results."""
        metadata = {key: value for key, value in self.execution_metadata.items() if key not in _PLATFORM_KEYS}
        if self.platform_latency_ms is not None:
            metadata[PLATFORM_LATENCY] = self.platform_latency_ms
        if self.science is not None:
            metadata[SCIENCE] = self.science.model_dump(mode="json")
        return metadata


@dataclass(frozen=True, slots=True)
class CandidateFacts:
    """Facts for governance, computed here because governance never sees evaluation data."""

    contract_id: str
    extracted_metrics: Mapping[str, bool | float | int | None]
    """Metric → value; None for a value that is not a finite number."""
    execution_metadata: Mapping[str, Any]
    platform_latency_ms: float | None
    output_text: str | None
    """The main text of the output, or all its strings where the text is a decoy."""
    other_text: str | None
    """The reasoning, and the strings of the output beside its text."""
    structured_form: str | None
    """The truncated text and canonical JSON of the output, for comparison with later outputs; None for plain text."""
    similarities: Mapping[str, float]
    """Output hash → similarity of an earlier output; without those that cannot be compared."""
    reference_similarity: ReferenceSimilarity | None
    """Similarity to the references that the work's input does not contain."""
    keyword_stats: KeywordStats | None


@dataclass(frozen=True, slots=True)
class Assessment:
    """The engine's own verdict, the facts for governance, and the seconds of each extractor that ran."""

    result: VerificationResult
    facts: CandidateFacts
    seconds: Mapping[str, float] = field(default_factory=dict)
