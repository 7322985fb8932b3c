"""What the engine is given, and what it hands on to governance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from aex_models.criteria import SuccessCriteria, SuccessCriterion
from aex_models.governance import KeywordStats, ReferenceSimilarity
from aex_models.results import VerificationResult
from aex_models.science import ScienceResult
from aex_outcomes.extractors.examined import SCIENCE
from aex_outcomes.extractors.latency import PLATFORM_LATENCY

_PLATFORMS_OWN = frozenset({PLATFORM_LATENCY, SCIENCE})
"""Keys of the metadata that no agent writes."""
MOST_EARLIER = 20
"""Earlier outputs that one is compared with: the latest."""


@dataclass(frozen=True, slots=True)
class Case:
    """One candidate of one contract, with all that its verdict depends on."""

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
    """What the agent says of it: no verdict reads it, governance does."""
    earlier: Mapping[str, str] = field(default_factory=dict)
    """By output hash, the oldest first: the forms of the contract's earlier candidates."""
    science: ScienceResult | None = None
    """What the science gate has concluded, where the work has science: before the engine is asked."""

    @property
    def criteria(self) -> Sequence[SuccessCriterion]:
        """All of them; empty for a work without any."""
        return self.success_criteria.criteria if self.success_criteria else ()

    @property
    def task_input(self) -> dict[str, Any]:
        """The input overlaid by the evaluation data, as extractors see it."""
        return {**self.work_input, **{key: value for key, value in self.evaluation.items() if value is not None}}

    @property
    def metadata(self) -> dict[str, Any]:
        """The agent's metadata with what the platform measured and recomputed, which an agent cannot write itself."""
        told = {key: value for key, value in self.execution_metadata.items() if key not in _PLATFORMS_OWN}
        if self.platform_latency_ms is not None:
            told[PLATFORM_LATENCY] = self.platform_latency_ms
        if self.science is not None:
            told[SCIENCE] = self.science.model_dump(mode="json")
        return told


@dataclass(frozen=True, slots=True)
class CandidateFacts:
    """What governance needs to know of a candidate, computed here because it never sees evaluation data."""

    contract_id: str
    extracted_metrics: Mapping[str, bool | float | int | None]
    """None: the value is no finite number."""
    execution_metadata: Mapping[str, Any]
    platform_latency_ms: float | None
    output_text: str | None
    """What the output says in words: its text, or all its strings where most of its words are elsewhere."""
    other_text: str | None
    """The reasoning, and the strings of the output that are not its text."""
    structured_form: str | None
    """The text and the canonical JSON of the output, both cut, for comparison with later outputs; None where the output
    is its text alone."""
    similarities: Mapping[str, float]
    """Of the earlier outputs to this one, by their hash; without those that could not be told."""
    reference_similarity: ReferenceSimilarity | None
    """To the references that the work's input does not show, where it is like any at all."""
    keyword_stats: KeywordStats | None


@dataclass(frozen=True, slots=True)
class Assessment:
    """The engine's own verdict, before governance, and the facts that governance decides on."""

    result: VerificationResult
    facts: CandidateFacts
    seconds: Mapping[str, float] = field(default_factory=dict)
    """How long each extractor took, by section of the configuration; without those that did not run."""
