"""Templates of other tools: texts with variables such as `{{ item.answer }}`, filled from one row."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aex_cli.importing.checks import NotTranslatable

_EXPRESSION = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_STATEMENT = re.compile(r"\{[%#]")
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PATH = re.compile(rf"\s*({_NAME}(?:\.{_NAME}|\.[0-9]+|\[[0-9]+\]|\['[^'\]]*'\]|\[\"[^\"\]]*\"\])*)\s*")
_STEP = re.compile(r"\.?([A-Za-z0-9_]+)|\['([^']*)'\]|\[\"([^\"]*)\"\]|\[([0-9]+)\]")
_MAX_SAFE_INTEGER = 2**53
_LEAST_PLAIN, _BEYOND_PLAIN = 1e-6, 1e21
"""Bounds between which JavaScript and Python write a number alike."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a template: the names and positions that lead to its value."""

    steps: tuple[str, ...]

    @property
    def source(self) -> str:
        """Return the variable as a template has it, such as `item.answer`."""
        return ".".join(self.steps)


Template = tuple[str | Variable, ...]


def parse_template(text: str, *, has_statements: bool) -> Template:
    """Return the literal parts and variables of a template.

    `has_statements`: the template language also has `{% … %}` and `{# … #}`. Raises `NotTranslatable` for these, and
    for an expression that is more than a name, such as one with a filter.
    """
    if has_statements and _STATEMENT.search(text):
        raise NotTranslatable("template", "the template has statements or comments: write out what they give")
    parts: list[str | Variable] = []
    position = 0
    for found in _EXPRESSION.finditer(text):
        path = _PATH.fullmatch(found[1])
        if path is None:
            raise NotTranslatable("template", "the template has more than plain names: write out what it gives")
        parts += [text[position : found.start()], Variable(_split_path(path[1]))]
        position = found.end()
    rest = text[position:]
    if "{{" in rest:
        raise NotTranslatable("template", "the template has {{ without }}")
    return tuple(each for each in (*parts, rest) if each != "")


def _split_path(path: str) -> tuple[str, ...]:
    return tuple(next(filter(None, found.groups()), "") for found in _STEP.finditer(path))


def list_variables(template: Template) -> list[Variable]:
    """Return the variables of a template, in order."""
    return [each for each in template if isinstance(each, Variable)]


def fill_template(template: Template, scope: Mapping[str, Any]) -> str:
    """Return the template's text with the values of `scope`, a mapping from first names to values.

    Raises `NotTranslatable` for a missing value, and for one that tools write in different ways.
    """
    return "".join(
        each if isinstance(each, str) else format_value_or_raise(find_value(each, scope)) for each in template
    )


def find_value(variable: Variable, scope: Mapping[str, Any]) -> Any:
    """Return the value of a variable. Raises `NotTranslatable` if there is none."""
    value: Any = scope
    for step in variable.steps:
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif _is_list(value) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise NotTranslatable("template", f"the row has no {variable.source}")
    return value


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def format_value_or_raise(value: Any) -> str:
    """Return a text unchanged, or a number as both JavaScript and Python write it.

    Raises `NotTranslatable` for other values, such as true, null, 1.0 and lists.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MAX_SAFE_INTEGER:
        return str(value)
    if isinstance(value, float) and not value.is_integer() and _LEAST_PLAIN <= abs(value) < _BEYOND_PLAIN:
        return repr(float(value))
    raise NotTranslatable("template", "a template's value is neither a text nor a plain number: write it as a text")
