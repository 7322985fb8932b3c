"""Thresholds and switches of the rules, from YAML: the packaged defaults, or an operator's own file over them."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from aex_governance.rules.table import RULES
from aex_models.frozen import Frozen, StrictBool


class RuleConfig(Frozen):
    """One rule's switch and thresholds."""

    enabled: StrictBool = True
    thresholds: dict[str, Any] = {}


class BadRuleConfig(ValueError):
    """The file names a rule or a threshold that does not exist, or gives it the wrong kind of value."""


def load_rules(path: Path | None = None) -> Mapping[str, RuleConfig]:
    """The configuration of every rule. Raises `BadRuleConfig`, naming the path in the file."""
    defaults = _read(files("aex_governance.rules").joinpath("thresholds.yaml").read_text(encoding="utf-8"))
    known = {rule.name for rule in RULES}
    configs = {name: RuleConfig.model_validate(defaults[name]) for name in known}
    if path is None:
        return configs
    own = _read(path.read_text(encoding="utf-8"))
    for name, settings in own.items():
        if name not in known:
            raise BadRuleConfig(f"{path}: {name}: no such rule; the rules are {', '.join(sorted(known))}")
        configs[name] = _overlaid(f"{path}: {name}", configs[name], settings)
    return configs


def _overlaid(where: str, base: RuleConfig, own: Any) -> RuleConfig:
    if not isinstance(own, dict) or set(own) - {"enabled", "thresholds"}:
        raise BadRuleConfig(f"{where}: expected `enabled` and `thresholds`, nothing else")
    thresholds = own.get("thresholds", {})
    if not isinstance(thresholds, dict):
        raise BadRuleConfig(f"{where}.thresholds: expected a mapping")
    for name, value in thresholds.items():
        if name not in base.thresholds:
            raise BadRuleConfig(f"{where}.thresholds.{name}: no such threshold")
        if _kind(value) is not _kind(base.thresholds[name]):
            raise BadRuleConfig(f"{where}.thresholds.{name}: expected a {_kind(base.thresholds[name]).__name__}")
    enabled = own.get("enabled", base.enabled)
    if not isinstance(enabled, bool):
        raise BadRuleConfig(f"{where}.enabled: expected true or false")
    return RuleConfig(enabled=enabled, thresholds={**base.thresholds, **thresholds})


def _kind(value: Any) -> type:
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)


def _read(text: str) -> dict[str, Any]:
    content = yaml.safe_load(text) or {}
    if not isinstance(content, dict):
        raise BadRuleConfig("expected a mapping of rule names")
    return content
