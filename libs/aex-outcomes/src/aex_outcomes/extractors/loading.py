"""Loading of an extractor by its section of the configuration."""

from importlib import import_module
from typing import Any

from aex_outcomes.config import BUILT_IN, ExtractorConfig, InvalidConfig
from aex_outcomes.extractors.protocol import MetricExtractor
from aex_outcomes.named_code import as_invalid_config, load_by_entry_point_or_path
from aex_outcomes.sandbox.port import Limits, Sandbox

ENTRY_POINTS = "aex.extractors"
"""Entry point group of installed packages' extractors."""

CUSTOM = "CustomExtractor"
"""Class of the only extractor that gets a sandbox and its section's limits."""

_MODULES = {
    "LatencyExtractor": "latency",
    "TextQualityExtractor": "text_quality",
    "ClassificationExtractor": "classification",
    "RegressionExtractor": "regression",
    "ProbabilityExtractor": "probabilities",
    "ContainsExtractor": "contains",
    "AnswersExtractor": "answers",
    CUSTOM: "custom",
    "RecomputedStatisticsExtractor": "statistics",
    "ScienceExtractor": "science",
    "RolloutExtractor": "rollout",
}


def load_extractor(section: str, settings: ExtractorConfig, sandbox: Sandbox | None = None) -> MetricExtractor:
    """Import the class of a section's extractor and create it with the section's settings.

    `sandbox` runs custom metrics; without it each run starts a confined worker. Raises `InvalidConfig`, which names the
    section, if the class cannot be loaded, is no extractor or refuses the settings.
    """
    name = settings.class_ or BUILT_IN[section]
    with as_invalid_config(f"extractors.{section}.class", name):
        make = _find_class(name)
    if not isinstance(make, type):
        raise InvalidConfig([(f"extractors.{section}.class", f"{name} is no class")])
    options: dict[str, Any] = {}
    if name == CUSTOM:
        bounds = settings.sandbox
        options["limits"] = Limits(timeout_ms=bounds.timeout_ms, memory_mb=bounds.memory_limit_mb)
        if sandbox is not None:
            options["sandbox"] = sandbox
    try:
        extractor = make(**settings.config, **options)
    except Exception as error:  # any error of a constructor is an error of the settings
        raise InvalidConfig([(f"extractors.{section}.config", str(error) or type(error).__name__)]) from error
    if not isinstance(extractor, MetricExtractor):
        problem = f"{name} is no extractor: it needs extract and supported_metrics"
        raise InvalidConfig([(f"extractors.{section}.class", problem)])
    return extractor


def _find_class(name: str) -> Any:
    """Return the built-in class of this name, else the one of an entry point or an import path."""
    if name in _MODULES:
        return getattr(import_module(f"aex_outcomes.extractors.{_MODULES[name]}"), name)
    return load_by_entry_point_or_path(ENTRY_POINTS, name)
