r"""Validation of outputs by JSON Schema, without fetching references and with patterns in linear time.

The draft is 2020-12 unless `$schema` names another published one; `format` is an annotation, not a check. Verdicts
equal those of the package jsonschema, for which two keywords of the compiled validator are replaced. Only patterns
differ: they follow ECMA-262, as the standard demands. So `\d` and `\w` are ASCII, and `$` is the very end.
"""

import json
import marshal
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from aex_outcomes.json_values import join_pointer
from aex_outcomes.kernels.schema_cost import MAX_EVALUATIONS, is_schema_too_complex
from aex_outcomes.kernels.schema_graph import Unresolvable

if TYPE_CHECKING:
    from jsonschema_rs import KeywordValidator

_WITH_DEPENDENCIES = ("draft-03", "draft-04", "draft-06", "draft-07")
"""Drafts with the keyword `dependencies`; later drafts ignore it."""


class NotMultiple(ValueError):
    """Error for a number that is no multiple of the keyword's value."""


class MultipleOf:
    """Keyword `multipleOf`, computed with doubles as in jsonschema: 0.3 is no multiple of 0.1."""

    def __init__(self, parent: Mapping[str, Any], value: Any, path: list[str | int]) -> None:  # noqa: ARG002 the protocol
        self._divisor: int | float = float(value) if isinstance(value, Decimal) else value

    def validate(self, instance: Any) -> None:
        """Raise `NotMultiple` for a number that is no multiple; accept every other value."""
        number = float(instance) if isinstance(instance, Decimal) else instance
        if isinstance(number, int | float) and not isinstance(number, bool) and not is_multiple(number, self._divisor):
            raise NotMultiple


def is_multiple(number: int | float, divisor: int | float) -> bool:
    """Return True if the number is a multiple of the divisor, by the rule of the package jsonschema.

    An integer divisor must leave no remainder; for any other divisor the quotient must be an integer.
    """
    try:
        if isinstance(divisor, int):
            return number % divisor == 0
        quotient = number / divisor
        return int(quotient) == quotient
    except OverflowError:  # beyond a double's range: exactly
        return (Fraction(number) / Fraction(divisor)).denominator == 1


class IgnoredKeyword:
    """Keyword without effect: it accepts every instance."""

    def __init__(self, parent: Mapping[str, Any], value: Any, path: list[str | int]) -> None: ...

    def validate(self, instance: Any) -> None:
        """Accept the instance."""


def _keywords_for(text: str) -> "dict[str, type[KeywordValidator]]":
    """Return the replacements of those keywords that the schema, as JSON text, uses; each costs time."""
    replaced: dict[str, type[KeywordValidator]] = {"multipleOf": MultipleOf} if '"multipleOf"' in text else {}
    if '"dependencies"' in text:
        schema = json.loads(text)
        draft = str(schema.get("$schema")) if isinstance(schema, dict) else ""
        if not any(each in draft for each in _WITH_DEPENDENCIES):
            replaced["dependencies"] = IgnoredKeyword
    return replaced


MAX_SCHEMA_LENGTH = 1_000_000


class InvalidSchema(ValueError):
    """Error for a schema that cannot be used.

    `path` is a JSON pointer into the schema. The message quotes nothing of the schema.
    """

    def __init__(self, path: str, code: str, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.code = code


class InvalidInstance(ValueError):
    """Error for an instance that JSON cannot represent."""


class Validator(Protocol):
    """Compiled schema."""

    def is_valid(self, instance: Any, /) -> bool:
        """Return True if the instance conforms to the schema."""
        ...


def serialize_schema(schema: Mapping[str, Any]) -> str:
    """Return the schema as JSON text, the form that is compiled and cached.

    Raises `InvalidSchema` for a schema that JSON cannot represent or that is nested too deeply.
    """
    try:
        return json.dumps(schema, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        raise InvalidSchema("", "invalid_schema", "Not JSON, or nested too deeply") from None


def compile_schema(schema_text: str) -> Validator:
    """Compile a schema from its JSON text.

    Raises `InvalidSchema` for an invalid keyword or pattern, a reference that leads outside the schema, and a schema
    that is too long or too complex.
    """
    import jsonschema_rs  # noqa: PLC0415 needed only by works with a schema

    if len(schema_text) > MAX_SCHEMA_LENGTH:
        raise InvalidSchema("", "schema_too_large", f"A schema may have {MAX_SCHEMA_LENGTH} characters")
    try:
        validator: Validator = jsonschema_rs.validator_for(
            schema_text,
            validate_formats=False,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(),
            keywords=_keywords_for(schema_text),
        )
    except jsonschema_rs.ValidationError as error:
        raise _invalid_schema(error) from None
    except (ValueError, RecursionError):
        raise InvalidSchema("", "invalid_schema", "Not a valid JSON Schema") from None
    try:
        too_complex = is_schema_too_complex(schema_text)
    except Unresolvable:
        raise InvalidSchema("", "unresolvable_ref", "A $ref must lead to a subschema by its plain address") from None
    if too_complex:
        message = (
            f"An output could cause more than {MAX_EVALUATIONS} evaluations of subschemas at one instance: let fewer "
            "of allOf, anyOf, oneOf, if and not refer to the same definitions"
        )
        raise InvalidSchema("", "schema_too_complex", message)
    return validator


def _invalid_schema(error: Any) -> InvalidSchema:
    path, keyword = join_pointer(*error.instance_path), error.kind.name
    if keyword == "$ref":
        message = "A $ref or $schema leads outside the schema; nothing is ever fetched"
        return InvalidSchema(path, "unresolvable_ref", message)
    if keyword == "format":
        return InvalidSchema(path, "invalid_pattern", "Not a pattern without lookaround and back-references")
    return InvalidSchema(path, "invalid_schema", f"Not a valid JSON Schema (violates {keyword!r} of its meta-schema)")


def conforms_to_schema(validator: Validator, instance: Any) -> bool:
    """Return True if the instance conforms to the compiled schema.

    Raises `InvalidInstance` for an instance that JSON cannot represent or that is nested too deeply. The validator
    recurses natively, so that deep nesting would overflow the stack and end the process.
    """
    try:
        if not _is_surely_plain(instance):  # numbers that keep their text become plain ones
            instance = json.loads(json.dumps(instance, allow_nan=False, ensure_ascii=False).encode())
        return validator.is_valid(instance)
    except (RecursionError, TypeError, ValueError) as error:  # lone surrogates are a ValueError too
        raise InvalidInstance(f"not JSON, or nested too deeply ({type(error).__name__})") from None


_MAYBE_NOT_FINITE = tuple(re.compile(last + rb"(?<=[g\xe7].{6}[\xf0-\xff].)", re.DOTALL) for last in (b"\x7f", b"\xff"))
"""Patterns that find NaN and infinities in a value's marshal form, because the validator would treat them as null.

There a double is a tag `g`, possibly with a flag bit, and eight bytes, of which the last two hold the exponent. There
are two patterns, because a pattern that begins with a literal byte is searched ten times as fast.
"""


def _is_surely_plain(instance: Any) -> bool:
    """Return True if the instance surely has built-in types, finite numbers and little nesting.

    The test is fast. It also refuses some such instances, by chance: the caller then converts them through JSON text.
    """
    try:
        plain = marshal.dumps(instance)
    except ValueError:
        return False
    return not any(pattern.search(plain) for pattern in _MAYBE_NOT_FINITE)
