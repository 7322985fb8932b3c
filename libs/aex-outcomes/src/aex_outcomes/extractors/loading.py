"""From a section of the configuration to an extractor."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from aex_outcomes.config import BUILT_IN, ExtractorConfig, InvalidConfig
from aex_outcomes.extractors.protocol import MetricExtractor
from aex_outcomes.named_code import blamed_on, code_named
from aex_outcomes.sandbox.port import Limits, Sandbox

ENTRY_POINTS = "aex.extractors"
"""The entry point group in which packages offer extractors."""

CUSTOM = "CustomExtractor"
"""The one extractor that is given a sandbox, and the limits of its section."""

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
    """The extractor of an enabled section.

    `sandbox`: where custom metrics run; unless given, each run has a confined worker of its own.

    Raises `InvalidConfig`, naming the section, for a class that is not there, is no extractor or refuses its settings.
    """
    name = settings.class_ or BUILT_IN[section]
    make = _found(section, name)
    try:
        extractor = make(**settings.config, **(_confined(settings, sandbox) if name == CUSTOM else {}))
    except Exception as error:  # whatever a class says of its settings is a problem of the settings
        raise InvalidConfig([(f"extractors.{section}.config", str(error) or type(error).__name__)]) from error
    if not isinstance(extractor, MetricExtractor):
        problem = f"{name} is no extractor: it needs extract and supported_metrics"
        raise InvalidConfig([(f"extractors.{section}.class", problem)])
    return extractor


def _confined(settings: ExtractorConfig, sandbox: Sandbox | None) -> dict[str, Any]:
    bounds = settings.sandbox
    limits = Limits(timeout_ms=bounds.timeout_ms, memory_mb=bounds.memory_limit_mb)
    return {"limits": limits} if sandbox is None else {"limits": limits, "sandbox": sandbox}


def _found(section: str, name: str) -> Callable[..., Any]:
    with blamed_on(f"extractors.{section}.class", name):
        found = _by_name(name)
    if not isinstance(found, type):
        raise InvalidConfig([(f"extractors.{section}.class", f"{name} is no class")])
    return found


def _by_name(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"aex_outcomes.extractors.{_MODULES[name]}"), name)
    return code_named(ENTRY_POINTS, name)
