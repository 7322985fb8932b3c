"""Loading of an extractor by its section of the configuration."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from aex_outcomes.config import BUILT_IN, ExtractorConfig, InvalidConfig
from aex_outcomes.extractors.protocol import MetricExtractor
from aex_outcomes.named_code import as_invalid_config, load_by_entry_point_or_path
from aex_outcomes.sandbox.port import Limits, Sandbox
from aex_outcomes.testing.checks import HiddenTestLimits
from aex_outcomes.testing.results import HiddenTestRunner

ENTRY_POINTS = "aex.extractors"
"""Entry point group of installed packages' extractors."""

CUSTOM, HIDDEN_TESTS = "CustomExtractor", "HiddenTestsExtractor"
"""Classes of the extractors that get a runner of code and their section's limits."""

_MODULES = {
    "LatencyExtractor": "latency",
    "TextQualityExtractor": "text_quality",
    "ClassificationExtractor": "classification",
    "RegressionExtractor": "regression",
    "ProbabilityExtractor": "probabilities",
    "ContainsExtractor": "contains",
    "AnswersExtractor": "answers",
    "RecordsExtractor": "records",
    "RankingExtractor": "ranking",
    CUSTOM: "custom",
    "SqlExtractor": "sql",
    "RecomputedStatisticsExtractor": "statistics",
    "ScienceExtractor": "science",
    "RolloutExtractor": "rollout",
    HIDDEN_TESTS: "hidden_tests",
}


@dataclass(frozen=True, slots=True)
class CodeRunners:
    """Runners of code that is not the platform's own; without one, each run starts a confined worker."""

    sandbox: Sandbox | None = None
    """Runner of custom metrics."""
    tests: HiddenTestRunner | None = None
    """Runner of hidden tests."""


def load_extractor(section: str, settings: ExtractorConfig, runners: CodeRunners | None = None) -> MetricExtractor:
    """Import the class of a section's extractor and create it with the section's settings.

    Raises `InvalidConfig`, which names the section, if the class cannot be loaded, is no extractor or refuses the
    settings.
    """
    name = settings.class_ or BUILT_IN[section]
    with as_invalid_config(f"extractors.{section}.class", name):
        make = _find_class(name)
    if not isinstance(make, type):
        raise InvalidConfig([(f"extractors.{section}.class", f"{name} is no class")])
    options = _runner_options(name, settings, runners or CodeRunners())
    try:
        extractor = make(**settings.config, **options)
    except Exception as error:  # any error of a constructor is an error of the settings
        raise InvalidConfig([(f"extractors.{section}.config", str(error) or type(error).__name__)]) from error
    if not isinstance(extractor, MetricExtractor):
        problem = f"{name} is no extractor: it needs extract and supported_metrics"
        raise InvalidConfig([(f"extractors.{section}.class", problem)])
    return extractor


def _runner_options(name: str, settings: ExtractorConfig, runners: CodeRunners) -> dict[str, Any]:
    timeout_ms, memory_mb = settings.sandbox.timeout_ms, settings.sandbox.memory_limit_mb
    if name == CUSTOM:
        own = {} if runners.sandbox is None else {"sandbox": runners.sandbox}
        return {"limits": Limits(timeout_ms=timeout_ms, memory_mb=memory_mb), **own}
    if name == HIDDEN_TESTS:
        runner = {} if runners.tests is None else {"runner": runners.tests}
        return {"limits": HiddenTestLimits(timeout_ms=timeout_ms, memory_mb=memory_mb), **runner}
    return {}


def _find_class(name: str) -> Any:
    """Return the built-in class of this name, else the one of an entry point or an import path."""
    if name in _MODULES:
        return getattr(import_module(f"aex_outcomes.extractors.{_MODULES[name]}"), name)
    return load_by_entry_point_or_path(ENTRY_POINTS, name)
