"""Loading of extractors by their section of the configuration."""

from importlib import import_module
from typing import Any

from aex_outcomes.config import BUILT_IN, ExtractorConfig, InvalidConfig
from aex_outcomes.extractors.protocol import MetricExtractor
from aex_outcomes.named_code import as_invalid_config, load_by_entry_point_or_path
from aex_outcomes.sandbox.port import Limits, Sandbox

ENTRY_POINTS = "aex.extractors"
"""Entry point group in which packages offer extractors."""

CUSTOM = "CustomExtractor"
"""The one extractor that receives a sandbox and the limits of its section."""

_MODULES = {
    "LatencyExtractor": "latency",
    "TextQualityExtractor": "text_quality",
    "ClassificationExtractor": "classification",
    "ContainsExtractor": "contains",
    CUSTOM: "custom",
    "StatisticsExtractor": "statistics",
    "ScienceExtractor": "science",
    "RolloutExtractor": "rollout",
}


def load_extractor(section: str, settings: ExtractorConfig, sandbox: Sandbox | None = None) -> MetricExtractor:
    """Return the extractor of an enabled section.

    `sandbox` runs custom metrics; without it each run has a confined worker of its own.
    Raises `InvalidConfig`, naming the section, for a missing class, a class that is no extractor, and refused settings.
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
    """Return the built-in class of this name, else that of an entry point or a dotted path."""
    if name in _MODULES:
        return getattr(import_module(f"aex_outcomes.extractors.{_MODULES[name]}"), name)
    return load_by_entry_point_or_path(ENTRY_POINTS, name)
