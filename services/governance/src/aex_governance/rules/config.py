"""Configuration of the fraud rules: packaged defaults, overridden by an operator's YAML file.

The file may contain the rules and thresholds of the packaged `thresholds.yaml`, with values of the same kind. Shares
are in [0, 1], and counts are whole numbers from 1. Other numbers are finite and not negative.
"""

import math
import re
from collections.abc import Callable, Hashable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeGuard

import yaml

from aex_governance.rules.case import FraudRule, RuleConfig
from aex_governance.rules.table import RULES
from aex_models.validation_messages import format_suggestion

__all__ = ["BadRuleConfig", "RuleConfig", "load_rule_configs"]

_FAST_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""YAML loader of libyaml, which takes a fifteenth of the time where it is installed."""
_SHARE = re.compile(r"(similarity|share|density|rouge_l|bleu|likeness)$")
_MILLISECONDS = re.compile(r"_ms$")
_WINDOW = ("window_s", 60, 86_400)
_EXCLUSIVE_MINIMA: Mapping[str, float] = {"critical_factor": 1, "max_robust_z": 0}
_ASCENDING = (("minor_relative", "major_relative"),)
"""Pairs of thresholds in which the first must be less than the second, in every rule that has both."""


class BadRuleConfig(ValueError):
    """Error in the file of rules. The message names each problem, its position and the fix."""


def load_rule_configs(path: Path | None = None) -> Mapping[str, RuleConfig]:
    """Return the configuration of each rule by name: the defaults, overridden by the YAML file at `path`.

    Raises `BadRuleConfig` with all problems of the file, and `OSError` when it cannot be read.
    """
    configs = load_default_rule_configs()
    rules = {rule.name: rule for rule in RULES}
    if path is None:
        return configs
    problems: list[str] = []
    for name, settings in _read_mapping(path).items():
        if name not in configs:
            suggestion = format_suggestion(str(name), configs)
            problems.append(f"{name}: no such rule{suggestion}; the rules are {', '.join(sorted(configs))}")
            continue
        configs[name] = _Overlay(rules[name], problems).override_defaults(configs[name], settings)
    if problems:
        raise BadRuleConfig("; ".join(f"{path}: {each}" for each in problems))
    return configs


def load_default_rule_configs() -> dict[str, RuleConfig]:
    """Return the packaged default configuration of each rule, by name."""
    source = files("aex_governance.rules").joinpath("thresholds.yaml")
    defaults = yaml.load(source.read_text(encoding="utf-8"), Loader=_FAST_LOADER)  # noqa: S506 (a safe loader, in C)
    return {rule.name: RuleConfig.model_validate(defaults[rule.name]) for rule in RULES}


def _read_mapping(path: Path) -> dict[Any, Any]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_RuleLoader)  # noqa: S506 (from SafeLoader)
    except UnicodeDecodeError:
        raise BadRuleConfig(f"{path}: not UTF-8; save the file in that encoding") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        position = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise BadRuleConfig(f"{path}: {position}not readable as YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadRuleConfig(f"{path}: not readable as YAML: {error}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise BadRuleConfig(f"{path}: expected a mapping of rule names, such as `self_dealing: {{enabled: false}}`")
    return content


class _RuleLoader(yaml.SafeLoader):
    """YAML loader that refuses duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in keys:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value} stands twice in one mapping; keep one", key.start_mark
                    )
                keys.add(key.value)
        return super().construct_mapping(node, deep)


# In YAML 1.2 `1e3` is a number; PyYAML follows 1.1, where it is a string.
_RuleLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


_SETTINGS = ("enabled", "thresholds")


class _Overlay:
    """Merger of an operator's settings of one rule with the defaults; collects problems of the settings."""

    def __init__(self, rule: FraudRule, problems: list[str]) -> None:
        self._rule = rule
        self._problems = problems

    def override_defaults(self, defaults: RuleConfig, settings: Any) -> RuleConfig:
        """Return the defaults overridden by the valid ones of `settings`."""
        if not isinstance(settings, dict):
            self._report("", f"expected `enabled` or `thresholds` under it, not {_excerpt(settings)}")
            return defaults
        for key in settings:
            if key not in _SETTINGS:
                suggestion = format_suggestion(str(key), _SETTINGS)
                self._report(f".{key}", f"no such setting{suggestion}; a rule has `enabled` and `thresholds`")
        enabled = settings.get("enabled", defaults.enabled)
        if not isinstance(enabled, bool):
            self._report(".enabled", f"expected true or false, not {_excerpt(enabled)}")
            enabled = defaults.enabled
        thresholds = settings.get("thresholds", {})
        if not isinstance(thresholds, dict):
            self._report(".thresholds", f"expected `name: value` under it, not {_excerpt(thresholds)}")
            thresholds = {}
        return RuleConfig(enabled=enabled, thresholds=self._thresholds(defaults.thresholds, thresholds))

    def _thresholds(self, defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
        known = f"it has {', '.join(sorted(defaults))}" if defaults else "the rule has none"
        result = dict(defaults)
        for name, value in own.items():
            path = f".thresholds.{name}"
            if name not in defaults:
                self._report(path, f"no such threshold{format_suggestion(str(name), defaults)}; {known}")
            else:
                result[name] = self._value(path, name, defaults[name], value)
                self._check_effect(path, name, value)
        for lower, upper in _ASCENDING:
            low, high = result.get(lower), result.get(upper)
            if _is_finite(low) and _is_finite(high) and low >= high:
                self._report(
                    f".thresholds.{lower}", f"expected less than {upper}, which is {high}, not {_excerpt(low)}"
                )
        return result

    def _value(self, path: str, name: str, default: Any, value: Any) -> Any:
        """Return the operator's value; a mapping of bounds is merged into the default mapping."""
        if isinstance(default, dict):
            if not isinstance(value, dict):
                self._report(path, f"expected `metric: [least, most]` under it, not {_excerpt(value)}")
                return default
            for metric, bounds in value.items():
                self._check(f"{path}.{metric}", bounds, _are_bounds, "[least, most], numbers or null, least ≤ most")
            return {**default, **value}
        if isinstance(default, list):
            self._check(path, value, _are_names, "a list of names, in quotes where they are no plain words")
        elif (expected := describe_expected_value_if_invalid(name, default, value)) is not None:
            self._report(path, f"expected {expected}, not {_excerpt(value)}")
        is_count = isinstance(default, int) and not isinstance(default, bool)
        return int(value) if is_count and isinstance(value, float) and value.is_integer() else value

    def _check(self, path: str, value: Any, is_valid: Callable[[Any], bool], expected: str) -> None:
        if not is_valid(value):
            self._report(path, f"expected {expected}, not {_excerpt(value)}")

    def _check_effect(self, path: str, name: str, value: Any) -> None:
        if not _is_finite(value):
            return
        least, most = self._rule.threshold_minima.get(name), self._rule.threshold_maxima.get(name)
        if least is not None and value < least:
            self._report(path, f"expected at least {least}: what is less is not remembered, not {value}")
        if most is not None and value > most:
            self._report(path, f"expected at most {most}, which is as far as it is looked at, not {value}")

    def _report(self, path: str, problem: str) -> None:
        self._problems.append(f"{self._rule.name}{path}: {problem}")


def describe_expected_value_if_invalid(name: str, default: Any, value: Any) -> str | None:
    """Return a description of the values that are valid for a threshold; None if `value` is valid."""
    if isinstance(default, bool):
        return None if isinstance(value, bool) else "true or false"
    if _SHARE.search(name):
        return None if _is_finite(value) and 0 <= value <= 1 else "a share, from 0 to 1"
    if name == _WINDOW[0]:
        is_window = _is_integer(value) and _WINDOW[1] <= value <= _WINDOW[2]
        return None if is_window else f"whole seconds, from {_WINDOW[1]} to {_WINDOW[2]}"
    if name in _EXCLUSIVE_MINIMA:
        least = _EXCLUSIVE_MINIMA[name]
        return None if _is_finite(value) and value > least else f"a number greater than {least}"
    if isinstance(default, int) and not _MILLISECONDS.search(name):
        return None if _is_integer(value) and value >= 1 else "a whole number, 1 or more"
    return None if _is_finite(value) and value >= 0 else "a number that is not negative"


def _is_finite(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_integer(value: Any) -> bool:
    return _is_finite(value) and float(value).is_integer()


def _are_bounds(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2 or not all(each is None or _is_finite(each) for each in value):
        return False
    least, most = value
    return least is None or most is None or least <= most


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) and each for each in value)


def _excerpt(value: Any) -> str:
    return repr(value)[:80]
