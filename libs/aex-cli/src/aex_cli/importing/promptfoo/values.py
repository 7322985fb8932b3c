"""Values of promptfoo assertions: templates, lists and ranges, filled with a test's variables."""

import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from aex_cli.importing.checks import NotTranslatable
from aex_cli.importing.templates import Template, fill_template, format_value_or_raise, list_variables, parse_template
from aex_models.numbers import is_finite_number

FILE = "file://"
_STRIPPED = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
"""White space that JavaScript strips."""


def fill_plain_variables(template: Template, variables: Mapping[str, Any]) -> str:
    """Return a template's text with these variables.

    Raises `NotTranslatable` for a missing variable, and for one that is itself a template.
    """
    filled = fill_template(template, variables)
    if list_variables(template) and re.search(r"\{[{%#]", filled):
        raise NotTranslatable("template", "a variable is itself a template: write out what it gives")
    return filled


class AssertionValue:
    """The value and threshold of one assertion, whose templates are filled with a test's variables."""

    def __init__(self, assertion: Mapping[str, Any], variables: Mapping[str, Any], negated: bool) -> None:
        self.kind: str = assertion["type"]
        self.value: Any = assertion.get("value")
        self.threshold: Any = assertion.get("threshold")
        self.variables = variables
        self.negated = negated
        for each in self.value if isinstance(self.value, list) else [self.value]:
            if isinstance(each, str) and each.startswith((FILE, "package:")):
                raise NotTranslatable("file_reference", "files are not followed: write the value into the assertion")

    def require_text(self, *, accept_number: bool = False) -> str:
        """Return the value as a text that is not empty; with `accept_number`, also a number as text."""
        if accept_number and is_finite_number(self.value):
            return format_value_or_raise(self.value)
        if not isinstance(self.value, str):
            raise NotTranslatable("value", f"{self.kind}: its value is no text")
        filled = self.fill(self.value)
        if not filled:
            raise NotTranslatable("value", f"{self.kind}: its value is empty")
        return filled

    def fill(self, template: str) -> str:
        """Return a template filled with the test's variables."""
        return fill_plain_variables(parse_template(template, has_statements=True), self.variables)

    def list_terms(self) -> list[str]:
        """Return the terms of a list, or those between commas of a text."""
        if isinstance(self.value, list) and self.value:
            if not all(isinstance(each, str) or _is_integer(each) for each in self.value):
                raise NotTranslatable("value", f"{self.kind}: its list has more than texts and whole numbers")
            return [self.fill(each) if isinstance(each, str) else str(each) for each in self.value]
        return _split_at_commas(self.require_text())


def _is_integer(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _split_at_commas(text: str) -> list[str]:
    """Return the terms of a text with commas, as promptfoo splits it; terms with quotes are refused."""
    if '"' in text:
        raise NotTranslatable("value", "a text with quotes between commas: write the terms as a list")
    terms = [each.strip(_STRIPPED) for each in text.split(",")]
    if "" in terms:
        raise NotTranslatable(
            "value", "nothing between commas: versions of promptfoo differ; write the terms as a list"
        )
    return terms


def read_bounds(values: AssertionValue) -> tuple[int | None, int | None]:
    """Return the least and greatest number of an exact value or of `{min, max}`."""
    value = values.value
    if isinstance(value, dict):
        low, high = value.get("min"), value.get("max")
        is_valid = all(each is None or _is_integer(each) for each in (low, high)) and not (low is None and high is None)
        if is_valid and (low is None or high is None or low <= high):
            return low, high
    else:
        filled = values.fill(value) if isinstance(value, str) else value
        if _is_integer(filled):
            return filled, filled
        if isinstance(filled, str) and re.fullmatch(r"[0-9]{1,9}", filled):
            return int(filled), int(filled)
    raise NotTranslatable("value", f"{values.kind}: its value is neither a whole number nor {{min, max}} of such")
