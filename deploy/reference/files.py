"""Sections of the reference on configuration files: `outcome-verification.yaml` and the file of rules."""

import inspect
from collections.abc import Iterator
from typing import Any

from aex_governance.rules.case import FraudRule
from aex_governance.rules.config import describe_expected_value_if_invalid, load_default_rule_configs
from aex_governance.rules.table import RULES
from aex_models.frozen import read_attribute_docstrings
from aex_outcomes.catalog import Catalog
from aex_outcomes.config import BUILT_IN, OutcomeConfig
from deploy.reference.fields import Row, format_value, sentence, unit_of, walk_fields
from deploy.reference.tables import Section, table, table_of_keys

_OUTCOMES = """\
`outcome-verification.yaml`, which `AEX_OUTCOME_CONFIG` or `aex up --config` names. Every key may be absent. NAME is the
section of an extractor or the name of a verifier."""
_EXTRACTORS = "The keys below `extractors.NAME.config` of the built-in extractors."
_RULES = """\
The file that `AEX_RULES_CONFIG` names. Each rule also has `enabled`, by default `true`. `GET /v1/rules` shows the
values in force."""
_PACKAGED = "[packaged](../services/governance/src/aex_governance/rules/thresholds.yaml)"
_NOT_CONFIGURED = {"selected_metrics", "accept_list", "sandbox", "limits", "runner"}
"""Parameters of extractors that the engine sets."""
_LONG = 80


def list_files() -> Iterator[Section]:
    """Yield the configuration of verification and of the fraud rules."""
    yield Section("Keys of outcome-verification.yaml", _OUTCOMES, table_of_keys(walk_fields(OutcomeConfig)))
    yield Section("Keys of the built-in extractors", _EXTRACTORS, table_of_keys(_options()))
    described = ((f"`{rule.name}`", _actions(rule), rule.description) for rule in RULES)
    yield Section("Fraud rules", _RULES, table(("rule", "actions by severity", "meaning"), described))
    yield Section("Thresholds of the rules", "", table_of_keys(_thresholds()))


def _options() -> Iterator[Row]:
    extractors = Catalog.of().extractors
    for section in BUILT_IN:
        kind = type(extractors[section])
        docs = read_attribute_docstrings(kind)
        for name, parameter in inspect.signature(kind).parameters.items():
            if name.startswith("_") or name in _NOT_CONFIGURED:
                continue
            meaning = sentence(docs.get(name), f"{kind.__module__}.{kind.__name__}.{name}")
            type_ = {str: "text", int: "whole number ≥ 1", tuple: "list of text"}.get(type(parameter.default), "path")
            yield Row(f"{section}.config.{name}", type_, format_value(parameter.default), unit_of(name, type_), meaning)


def _actions(rule: FraudRule) -> str:
    return ", ".join(f"{severity}: `{action}`" for severity, action in rule.actions.items())


def _thresholds() -> Iterator[Row]:
    defaults = load_default_rule_configs()
    for rule in RULES:
        for name, default in defaults[rule.name].thresholds.items():
            meaning = sentence(rule.threshold_notes.get(name), f"threshold_notes of the rule {rule.name}: {name}")
            type_ = _type(name, default)
            key = f"{rule.name}.thresholds.{name}"
            yield Row(key, type_, _default(default), _unit(name, type_), meaning)


def _type(name: str, default: Any) -> str:
    if isinstance(default, dict):
        return "mapping to [least, most]"
    return "list of text" if isinstance(default, list) else str(describe_expected_value_if_invalid(name, default, None))


def _default(value: Any) -> str:
    text = format_value(value)
    return text if len(text) <= _LONG else _PACKAGED


def _unit(name: str, type_: str) -> str:
    return "fraction" if type_.startswith("a share") else unit_of(name, type_)
