"""The outcome verification framework: engine, extractors, lifecycle, confined workers.

Names load on first use: importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aex_outcomes.catalog import Catalog as Catalog
    from aex_outcomes.config import OutcomeConfig as OutcomeConfig
    from aex_outcomes.config import load_config as load_config
    from aex_outcomes.engine.verification import VerificationEngine as VerificationEngine
    from aex_outcomes.extractors.classification import ClassificationExtractor as ClassificationExtractor
    from aex_outcomes.extractors.contains import ContainsExtractor as ContainsExtractor
    from aex_outcomes.extractors.custom import CustomExtractor as CustomExtractor
    from aex_outcomes.extractors.latency import LatencyExtractor as LatencyExtractor
    from aex_outcomes.extractors.protocol import AgentFault as AgentFault
    from aex_outcomes.extractors.protocol import MetricExtractor as MetricExtractor
    from aex_outcomes.extractors.protocol import PlatformFault as PlatformFault
    from aex_outcomes.extractors.protocol import Sourced as Sourced
    from aex_outcomes.extractors.rollout import RolloutExtractor as RolloutExtractor
    from aex_outcomes.extractors.science import ScienceExtractor as ScienceExtractor
    from aex_outcomes.extractors.statistics import StatisticsExtractor as StatisticsExtractor
    from aex_outcomes.extractors.text_quality import TextQualityExtractor as TextQualityExtractor
    from aex_outcomes.lifecycle.context import AgentContext as AgentContext
    from aex_outcomes.lifecycle.context import ExecutionContext as ExecutionContext
    from aex_outcomes.lifecycle.criteria_verifier import CriteriaVerifier as CriteriaVerifier
    from aex_outcomes.lifecycle.endings import Exhausted as Exhausted
    from aex_outcomes.lifecycle.endings import Failed as Failed
    from aex_outcomes.lifecycle.endings import Passed as Passed
    from aex_outcomes.lifecycle.endings import Reason as Reason
    from aex_outcomes.lifecycle.rejection import FatalAgentError as FatalAgentError
    from aex_outcomes.lifecycle.rejection import VerificationRejected as VerificationRejected
    from aex_outcomes.lifecycle.revision_loop import RevisionLoop as RevisionLoop
    from aex_outcomes.lifecycle.signature import InvalidVerifier as InvalidVerifier
    from aex_outcomes.lifecycle.state import VerificationState as VerificationState
    from aex_outcomes.linter import lint as lint
    from aex_outcomes.quotation import quote as quote
    from aex_outcomes.rollouts.scoring import score_or_zero as score_or_zero
    from aex_outcomes.rollouts.scoring import score_rollout as score_rollout
    from aex_outcomes.science.domains.infer import infer_domain as infer_domain
    from aex_outcomes.science.domains.registry import DomainRegistry as DomainRegistry
    from aex_outcomes.science.limits import DataLimits as DataLimits
    from aex_outcomes.science.recompute import Recomputation as Recomputation
    from aex_outcomes.science.recompute import recompute as recompute
    from aex_outcomes.science.reconcile import reconcile as reconcile
    from aex_outcomes.science.review.port import PeerReviewer as PeerReviewer
    from aex_outcomes.science.review.port import ReviewBrief as ReviewBrief
    from aex_outcomes.science.review.port import Reviewed as Reviewed
    from aex_outcomes.science.source import SourceFile as SourceFile

_HOMES = {
    "AgentContext": "lifecycle.context",
    "AgentFault": "extractors.protocol",
    "Catalog": "catalog",
    "ClassificationExtractor": "extractors.classification",
    "ContainsExtractor": "extractors.contains",
    "CriteriaVerifier": "lifecycle.criteria_verifier",
    "CustomExtractor": "extractors.custom",
    "DataLimits": "science.limits",
    "DomainRegistry": "science.domains.registry",
    "ExecutionContext": "lifecycle.context",
    "Exhausted": "lifecycle.endings",
    "Failed": "lifecycle.endings",
    "FatalAgentError": "lifecycle.rejection",
    "InvalidVerifier": "lifecycle.signature",
    "LatencyExtractor": "extractors.latency",
    "MetricExtractor": "extractors.protocol",
    "OutcomeConfig": "config",
    "Passed": "lifecycle.endings",
    "PeerReviewer": "science.review.port",
    "PlatformFault": "extractors.protocol",
    "Reason": "lifecycle.endings",
    "Recomputation": "science.recompute",
    "ReviewBrief": "science.review.port",
    "Reviewed": "science.review.port",
    "RevisionLoop": "lifecycle.revision_loop",
    "RolloutExtractor": "extractors.rollout",
    "ScienceExtractor": "extractors.science",
    "SourceFile": "science.source",
    "Sourced": "extractors.protocol",
    "StatisticsExtractor": "extractors.statistics",
    "TextQualityExtractor": "extractors.text_quality",
    "VerificationEngine": "engine.verification",
    "VerificationRejected": "lifecycle.rejection",
    "VerificationState": "lifecycle.state",
    "infer_domain": "science.domains.infer",
    "lint": "linter",
    "load_config": "config",
    "quote": "quotation",
    "recompute": "science.recompute",
    "reconcile": "science.reconcile",
    "score_or_zero": "rollouts.scoring",
    "score_rollout": "rollouts.scoring",
}
"""Public name → the module that it lives in."""

_MEASURING = frozenset({"duckdb", "pydantic_monty", "rapidfuzz"})
"""What the extra `measuring` brings. Who checks works, quotes them or runs verifiers of its own needs none of it."""

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
