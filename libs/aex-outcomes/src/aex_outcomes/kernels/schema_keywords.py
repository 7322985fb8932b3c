"""Keywords whose verdicts the compiled validator would give otherwise than jsonschema does."""

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema_rs import KeywordValidator

_WITH_DEPENDENCIES = ("draft-03", "draft-04", "draft-06", "draft-07")
"""Later drafts split `dependencies` into two keywords, and do not know it any more."""


class NotMultiple(ValueError):
    """An instance is no multiple of the keyword's value."""


class MultipleOf:
    """`multipleOf` in the arithmetic of jsonschema: on doubles, so that 0.3 is no multiple of 0.1.

    The compiled validator would calculate with the decimals as they are written.
    """

    def __init__(self, parent: Mapping[str, Any], value: Any, path: list[str | int]) -> None:  # noqa: ARG002 the protocol
        self._divisor: int | float = float(value) if isinstance(value, Decimal) else value

    def validate(self, instance: Any) -> None:
        """Raises `NotMultiple`. What is no number is of no concern."""
        number = float(instance) if isinstance(instance, Decimal) else instance
        if isinstance(number, int | float) and not isinstance(number, bool) and not is_multiple(number, self._divisor):
            raise NotMultiple


def is_multiple(number: int | float, divisor: int | float) -> bool:
    """As jsonschema has it: by the remainder for a whole divisor, else by whether the quotient is whole."""
    try:
        if isinstance(divisor, int):
            return number % divisor == 0
        quotient = number / divisor
        return int(quotient) == quotient
    except OverflowError:  # beyond a double's range: exactly
        return (Fraction(number) / Fraction(divisor)).denominator == 1


class Unknown:
    """A keyword that says nothing."""

    def __init__(self, parent: Mapping[str, Any], value: Any, path: list[str | int]) -> None:
        """Nothing is kept."""

    def validate(self, instance: Any) -> None:
        """Everything conforms."""


def keywords_for(text: str) -> "dict[str, type[KeywordValidator]]":
    """The keywords to replace in a schema, given as JSON text. A call out of compiled code costs: only where needed."""
    replaced: dict[str, type[KeywordValidator]] = {}
    if '"multipleOf"' in text:
        replaced["multipleOf"] = MultipleOf
    if '"dependencies"' in text and not _knows_dependencies(text):
        replaced["dependencies"] = Unknown
    return replaced


def _knows_dependencies(text: str) -> bool:
    schema = json.loads(text)
    draft = schema.get("$schema") if isinstance(schema, dict) else None
    return isinstance(draft, str) and any(each in draft for each in _WITH_DEPENDENCIES)
