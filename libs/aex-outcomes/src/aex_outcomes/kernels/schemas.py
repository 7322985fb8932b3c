r"""JSON Schema: compiled once, never fetching a reference, with patterns on a linear-time engine.

Draft 2020-12 unless `$schema` names another published draft; `format` is an annotation, not a check. The verdicts
are those of the package jsonschema, for which two keywords are replaced. Only patterns follow ECMA-262, as the
standard demands: `\d` and `\w` are ASCII, and `$` is the very end.
"""

import json
import marshal
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from aex_outcomes.json_values import join_pointer
from aex_outcomes.kernels.schema_cost import MAX_EVALUATIONS, is_too_complex
from aex_outcomes.kernels.schema_graph import Unresolvable

if TYPE_CHECKING:
    from jsonschema_rs import KeywordValidator

_WITH_DEPENDENCIES = ("draft-03", "draft-04", "draft-06", "draft-07")
"""Later drafts split `dependencies` into two keywords and ignore it."""


class NotMultiple(ValueError):
    """An instance that is no multiple of the keyword's value."""


class MultipleOf:
    """Keyword `multipleOf` on doubles, as in jsonschema: 0.3 is no multiple of 0.1, unlike as decimals."""

    def __init__(self, parent: Mapping[str, Any], value: Any, path: list[str | int]) -> None:  # noqa: ARG002 the protocol
        self._divisor: int | float = float(value) if isinstance(value, Decimal) else value

    def validate(self, instance: Any) -> None:
        """Raise `NotMultiple` for such a number; accept everything else."""
        number = float(instance) if isinstance(instance, Decimal) else instance
        if isinstance(number, int | float) and not isinstance(number, bool) and not is_multiple(number, self._divisor):
            raise NotMultiple


def is_multiple(number: int | float, divisor: int | float) -> bool:
    """Apply jsonschema's rule: the remainder for an integer divisor, else an integer quotient."""
    try:
        if isinstance(divisor, int):
            return number % divisor == 0
        quotient = number / divisor
        return int(quotient) == quotient
    except OverflowError:  # beyond a double's range: exactly
        return (Fraction(number) / Fraction(divisor)).denominator == 1


class IgnoredKeyword:
    """A keyword without effect: it accepts every instance."""

    def __init__(self, parent: Mapping[str, Any], value: Any, path: list[str | int]) -> None: ...

    def validate(self, instance: Any) -> None: ...


def _keywords_for(text: str) -> "dict[str, type[KeywordValidator]]":
    """Return the keywords to replace in a schema, given as JSON text; each replaced one costs time."""
    replaced: dict[str, type[KeywordValidator]] = {"multipleOf": MultipleOf} if '"multipleOf"' in text else {}
    if '"dependencies"' in text:
        schema = json.loads(text)
        draft = str(schema.get("$schema")) if isinstance(schema, dict) else ""
        if not any(each in draft for each in _WITH_DEPENDENCIES):
            replaced["dependencies"] = IgnoredKeyword
    return replaced


MAX_SCHEMA_LENGTH = 1_000_000


class InvalidSchema(ValueError):
    """A schema that cannot be used. `path` points into it; the message does not quote it."""

    def __init__(self, path: str, code: str, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.code = code


class InvalidInstance(ValueError):
    """An instance that JSON cannot represent."""


class Validator(Protocol):
    """A compiled schema."""

    def is_valid(self, instance: Any, /) -> bool: ...


def schema_text(schema: Mapping[str, Any]) -> str:
    """Return the schema as JSON text, the form that is compiled and cached.

    Raises `InvalidSchema` for a schema that JSON cannot represent, or nested too deeply.
    """
    try:
        return json.dumps(schema, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        raise InvalidSchema("", "invalid_schema", "Not JSON, or nested too deeply") from None


def compile_schema(text: str) -> Validator:
    """Compile a schema.

    Raises `InvalidSchema` for a bad keyword or pattern, for every reference to outside, and for a schema whose
    subschemas are evaluated too often.
    """
    import jsonschema_rs  # noqa: PLC0415 needed only by works with a schema

    if len(text) > MAX_SCHEMA_LENGTH:
        raise InvalidSchema("", "schema_too_large", f"A schema may have {MAX_SCHEMA_LENGTH} characters")
    try:
        validator: Validator = jsonschema_rs.validator_for(
            text,
            validate_formats=False,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(),
            keywords=_keywords_for(text),
        )
    except jsonschema_rs.ValidationError as error:
        raise _invalid_schema(error) from None
    except (ValueError, RecursionError):
        raise InvalidSchema("", "invalid_schema", "Not a valid JSON Schema") from None
    try:
        too_complex = is_too_complex(text)
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


def conforms(validator: Validator, instance: Any) -> bool:
    """Return True if the instance conforms.

    Raises `InvalidInstance` for one that JSON cannot represent, or nested too deeply. The validator recurses natively:
    nesting without limit would overflow the stack and end the process.
    """
    try:
        if not _is_plain_json(instance):  # numbers that keep their text become plain ones
            instance = json.loads(json.dumps(instance, allow_nan=False, ensure_ascii=False).encode())
        return validator.is_valid(instance)
    except (RecursionError, TypeError, ValueError) as error:  # lone surrogates are a ValueError too
        raise InvalidInstance(f"not JSON, or nested too deeply ({type(error).__name__})") from None


_MAYBE_NOT_FINITE = tuple(re.compile(last + rb"(?<=[g\xe7].{6}[\xf0-\xff].)", re.DOTALL) for last in (b"\x7f", b"\xff"))
"""NaN and the infinities in marshal's form: a tag `g` and eight bytes, whose last two hold the exponent.

The tag may carry the flag of a shared value. The validator would treat them as null. Two patterns, because a
pattern that begins with a literal byte is searched ten times as fast.
"""


def _is_plain_json(instance: Any) -> bool:
    """Return True for built-in types, not nested deeply, with finite numbers; marshal checks this fast.

    Others, and the few whose bytes match by chance, take the way through JSON text, which refuses invalid values.
    The validator finds lone surrogates itself, where a keyword reads them.
    """
    try:
        plain = marshal.dumps(instance)
    except ValueError:
        return False
    return not any(pattern.search(plain) for pattern in _MAYBE_NOT_FINITE)
