"""Thresholds and switches of the rules, from YAML: the packaged defaults, or an operator's own file over them.

What may stand in the operator's file is what the packaged file has: the same rules, thresholds and kinds of values.
A number is a finite one that is not negative; shares lie in [0, 1], counts are whole numbers from 1 on.
"""

from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from aex_governance.rules.config_file import BadRuleConfig, read_mapping, read_packaged
from aex_governance.rules.rule import FraudRule
from aex_governance.rules.table import RULES
from aex_governance.rules.threshold_limits import counted, expected_instead, is_finite, out_of_order
from aex_models.frozen import Frozen, StrictBool

__all__ = ["BadRuleConfig", "RuleConfig", "load_rules"]


class RuleConfig(Frozen):
    """One rule's switch and thresholds."""

    enabled: StrictBool = True
    thresholds: dict[str, Any] = {}


def load_rules(path: Path | None = None) -> Mapping[str, RuleConfig]:
    """The configuration of every rule.

    Raises `BadRuleConfig`, naming all that is wrong with the file, each with its path in it and the fix; and `OSError`
    where it cannot be read.
    """
    configs = packaged_rules()
    rules = {rule.name: rule for rule in RULES}
    if path is None:
        return configs
    problems: list[str] = []
    for name, settings in read_mapping(path).items():
        if name not in configs:
            problems.append(f"{name}: no such rule; the rules are {', '.join(sorted(configs))}")
            continue
        overlay = _Overlay(rules[name], problems)
        configs[name] = overlay.applied(configs[name], settings)
    if problems:
        raise BadRuleConfig("; ".join(f"{path}: {each}" for each in problems))
    return configs


def packaged_rules() -> dict[str, RuleConfig]:
    """The defaults of every rule in the table."""
    source = files("aex_governance.rules").joinpath("thresholds.yaml")
    defaults = read_packaged(source)
    return {rule.name: RuleConfig.model_validate(defaults[rule.name]) for rule in RULES}


class _Overlay:
    """One rule's settings over its defaults; what is wrong with them is told to the list of problems."""

    def __init__(self, rule: FraudRule, problems: list[str]) -> None:
        self._rule = rule
        self._problems = problems

    def applied(self, base: RuleConfig, own: Any) -> RuleConfig:
        """The settings together, so far as they are right."""
        if not isinstance(own, dict):
            self._tell("", f"expected `enabled` or `thresholds` under it, not {_shown(own)}")
            return base
        for key in own:
            if key not in {"enabled", "thresholds"}:
                self._tell(f".{key}", "no such setting; a rule has `enabled` and `thresholds`")
        enabled = own.get("enabled", base.enabled)
        if not isinstance(enabled, bool):
            self._tell(".enabled", f"expected true or false, not {_shown(enabled)}")
            enabled = base.enabled
        thresholds = own.get("thresholds", {})
        if not isinstance(thresholds, dict):
            self._tell(".thresholds", f"expected `name: value` under it, not {_shown(thresholds)}")
            thresholds = {}
        return RuleConfig(enabled=enabled, thresholds=self._thresholds(base.thresholds, thresholds))

    def _thresholds(self, defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
        known = f"it has {', '.join(sorted(defaults))}" if defaults else "the rule has none"
        result = dict(defaults)
        for name, value in own.items():
            where = f".thresholds.{name}"
            if name not in defaults:
                self._tell(where, f"no such threshold; {known}")
            else:
                result[name] = self._value(where, name, defaults[name], value)
                self._expect_effect(where, name, value)
        for name, expected in out_of_order(result):
            self._tell(f".thresholds.{name}", f"expected {expected}, not {_shown(result[name])}")
        return result

    def _value(self, where: str, name: str, default: Any, value: Any) -> Any:
        """A mapping of bounds is laid over the default one, name by name; anything else takes its place."""
        if isinstance(default, dict):
            if not isinstance(value, dict):
                self._tell(where, f"expected `metric: [least, most]` under it, not {_shown(value)}")
                return default
            for metric, bounds in value.items():
                self._expect(f"{where}.{metric}", bounds, _are_bounds, "[least, most], numbers or null, least ≤ most")
            return {**default, **value}
        if isinstance(default, list):
            self._expect(where, value, _are_names, "a list of names, in quotes where they are no plain words")
        elif (expected := expected_instead(name, default, value)) is not None:
            self._tell(where, f"expected {expected}, not {_shown(value)}")
        return counted(default, value)

    def _expect(self, where: str, value: Any, holds: Callable[[Any], bool], expected: str) -> None:
        if not holds(value):
            self._tell(where, f"expected {expected}, not {_shown(value)}")

    def _expect_effect(self, where: str, name: str, value: Any) -> None:
        if not is_finite(value):
            return
        least, most = self._rule.threshold_minima.get(name), self._rule.threshold_maxima.get(name)
        if least is not None and value < least:
            self._tell(where, f"expected at least {least}: what is less is not remembered, not {value}")
        if most is not None and value > most:
            self._tell(where, f"expected at most {most}, which is as far as it is looked at, not {value}")

    def _tell(self, where: str, problem: str) -> None:
        self._problems.append(f"{self._rule.name}{where}: {problem}")


def _are_bounds(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2 or not all(each is None or is_finite(each) for each in value):
        return False
    least, most = value
    return least is None or most is None or least <= most


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) and each for each in value)


def _shown(value: Any) -> str:
    return repr(value)[:80]
