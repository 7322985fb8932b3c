"""What the engine is given, and what it hands on to governance."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_models.governance import KeywordStats, ReferenceSimilarity
from aex_models.results import VerificationResult
from aex_outcomes.extractors.latency import PLATFORM_LATENCY


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

    @property
    def task_input(self) -> dict[str, Any]:
        """The input overlaid by the evaluation data, as extractors see it."""
        return {**self.work_input, **{key: value for key, value in self.evaluation.items() if value is not None}}

    @property
    def metadata(self) -> dict[str, Any]:
        """The agent's metadata with what the platform measured, which an agent cannot write itself."""
        told = {key: value for key, value in self.execution_metadata.items() if key != PLATFORM_LATENCY}
        return told if self.platform_latency_ms is None else {**told, PLATFORM_LATENCY: self.platform_latency_ms}


@dataclass(frozen=True, slots=True)
class CandidateFacts:
    """What governance needs to know of a candidate, computed here because it never sees evaluation data."""

    contract_id: str
    extracted_metrics: Mapping[str, bool | float | int | None]
    """None: the value is no finite number."""
    execution_metadata: Mapping[str, Any]
    platform_latency_ms: float | None
    output_text: str | None
    reference_similarity: ReferenceSimilarity | None
    keyword_stats: KeywordStats | None


@dataclass(frozen=True, slots=True)
class Assessment:
    """The engine's own verdict, before governance, and the facts that governance decides on."""

    result: VerificationResult
    facts: CandidateFacts
