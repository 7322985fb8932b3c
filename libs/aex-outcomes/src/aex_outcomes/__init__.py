"""The outcome verification framework, whose names load on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aex_outcomes.catalog import Catalog as Catalog
    from aex_outcomes.config import OutcomeConfig as OutcomeConfig
    from aex_outcomes.config import load_config as load_config
    from aex_outcomes.engine.verification import VerificationEngine as VerificationEngine
    from aex_outcomes.extractors.answers import AnswersExtractor as AnswersExtractor
    from aex_outcomes.extractors.classification import ClassificationExtractor as ClassificationExtractor
    from aex_outcomes.extractors.contains import ContainsExtractor as ContainsExtractor
    from aex_outcomes.extractors.custom import CustomExtractor as CustomExtractor
    from aex_outcomes.extractors.latency import LatencyExtractor as LatencyExtractor
    from aex_outcomes.extractors.probabilities import ProbabilityExtractor as ProbabilityExtractor
    from aex_outcomes.extractors.protocol import AgentFault as AgentFault
    from aex_outcomes.extractors.protocol import MetricExtractor as MetricExtractor
    from aex_outcomes.extractors.protocol import PlatformFault as PlatformFault
    from aex_outcomes.extractors.protocol import Sourced as Sourced
    from aex_outcomes.extractors.ranking import RankingExtractor as RankingExtractor
    from aex_outcomes.extractors.records import RecordsExtractor as RecordsExtractor
    from aex_outcomes.extractors.regression import RegressionExtractor as RegressionExtractor
    from aex_outcomes.extractors.rollout import RolloutExtractor as RolloutExtractor
    from aex_outcomes.extractors.science import ScienceExtractor as ScienceExtractor
    from aex_outcomes.extractors.statistics import RecomputedStatisticsExtractor as RecomputedStatisticsExtractor
    from aex_outcomes.extractors.text_quality import TextQualityExtractor as TextQualityExtractor
    from aex_outcomes.lifecycle.context import AgentContext as AgentContext
    from aex_outcomes.lifecycle.context import ExecutionContext as ExecutionContext
    from aex_outcomes.lifecycle.context import Exhausted as Exhausted
    from aex_outcomes.lifecycle.context import Failed as Failed
    from aex_outcomes.lifecycle.context import Passed as Passed
    from aex_outcomes.lifecycle.context import Reason as Reason
    from aex_outcomes.lifecycle.criteria_verifier import CriteriaVerifier as CriteriaVerifier
    from aex_outcomes.lifecycle.loop_events import LoopEvent as LoopEvent
    from aex_outcomes.lifecycle.rejection import FatalAgentError as FatalAgentError
    from aex_outcomes.lifecycle.rejection import VerificationRejected as VerificationRejected
    from aex_outcomes.lifecycle.revision_loop import RevisionLoop as RevisionLoop
    from aex_outcomes.lifecycle.signature import InvalidVerifier as InvalidVerifier
    from aex_outcomes.lifecycle.state import VerificationState as VerificationState
    from aex_outcomes.linter import lint as lint
    from aex_outcomes.price_quote import quote as quote
    from aex_outcomes.rollouts import score_or_zero as score_or_zero
    from aex_outcomes.rollouts import score_rollout as score_rollout
    from aex_outcomes.science.confined import DataLimits as DataLimits
    from aex_outcomes.science.domains.infer import infer_domain as infer_domain
    from aex_outcomes.science.domains.registry import DomainRegistry as DomainRegistry
    from aex_outcomes.science.peer_review_port import PeerReviewer as PeerReviewer
    from aex_outcomes.science.peer_review_port import ReviewBrief as ReviewBrief
    from aex_outcomes.science.peer_review_port import Reviewed as Reviewed
    from aex_outcomes.science.recompute import Recomputation as Recomputation
    from aex_outcomes.science.recompute import recompute as recompute
    from aex_outcomes.science.reconcile import reconcile as reconcile
    from aex_outcomes.science.source_files import SourceFile as SourceFile

_NAMES = {
    "catalog": ("Catalog",),
    "config": ("OutcomeConfig", "load_config"),
    "engine.verification": ("VerificationEngine",),
    "extractors.answers": ("AnswersExtractor",),
    "extractors.classification": ("ClassificationExtractor",),
    "extractors.contains": ("ContainsExtractor",),
    "extractors.custom": ("CustomExtractor",),
    "extractors.latency": ("LatencyExtractor",),
    "extractors.probabilities": ("ProbabilityExtractor",),
    "extractors.protocol": ("AgentFault", "MetricExtractor", "PlatformFault", "Sourced"),
    "extractors.regression": ("RegressionExtractor",),
    "extractors.ranking": ("RankingExtractor",),
    "extractors.records": ("RecordsExtractor",),
    "extractors.rollout": ("RolloutExtractor",),
    "extractors.science": ("ScienceExtractor",),
    "extractors.statistics": ("RecomputedStatisticsExtractor",),
    "extractors.text_quality": ("TextQualityExtractor",),
    "lifecycle.context": ("AgentContext", "ExecutionContext", "Exhausted", "Failed", "Passed", "Reason"),
    "lifecycle.criteria_verifier": ("CriteriaVerifier",),
    "lifecycle.loop_events": ("LoopEvent",),
    "lifecycle.rejection": ("FatalAgentError", "VerificationRejected"),
    "lifecycle.revision_loop": ("RevisionLoop",),
    "lifecycle.signature": ("InvalidVerifier",),
    "lifecycle.state": ("VerificationState",),
    "linter": ("lint",),
    "price_quote": ("quote",),
    "rollouts": ("score_or_zero", "score_rollout"),
    "science.confined": ("DataLimits",),
    "science.domains.infer": ("infer_domain",),
    "science.domains.registry": ("DomainRegistry",),
    "science.peer_review_port": ("PeerReviewer", "ReviewBrief", "Reviewed"),
    "science.recompute": ("Recomputation", "recompute"),
    "science.reconcile": ("reconcile",),
    "science.source_files": ("SourceFile",),
}
"""Module → its public names."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

_MEASURING = frozenset({"duckdb", "pydantic_monty", "rapidfuzz"})
"""The packages of the extra `measuring`: checks, price quotes and verifiers need none of them."""

__all__ = sorted(_HOMES)  # noqa: PLE0605 the table above is the one list


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _MEASURING:
            raise
        raise ImportError(f"{name} needs {package}: pip install 'aex-outcomes[measuring]'") from error


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
