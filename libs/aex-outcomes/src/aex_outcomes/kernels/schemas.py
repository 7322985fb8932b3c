"""JSON Schema: compiled once, never fetching a reference, with patterns on a linear-time engine.

Draft 2020-12 unless `$schema` names another published draft; `format` is an annotation, not a check. The verdicts are
those of the package jsonschema; patterns alone are ECMA-262's, as the standard has them: `\\d` and `\\w` are ASCII, and
`$` is the very end.
"""

import json
import marshal
import re
from collections.abc import Mapping
from typing import Any, Protocol

from aex_outcomes.kernels.schema_cost import MAX_EVALUATIONS, is_too_complex
from aex_outcomes.kernels.schema_graph import Unresolvable
from aex_outcomes.kernels.schema_keywords import keywords_for
from aex_outcomes.pointer import join

MAX_SCHEMA_LENGTH = 1_000_000


class InvalidSchema(ValueError):
    """Not a schema that can be used. `path` points into it; the message does not quote it."""

    def __init__(self, path: str, code: str, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.code = code


class NotJson(ValueError):
    """An instance that no schema can be held against."""


class Validator(Protocol):
    """A compiled schema."""

    def is_valid(self, instance: Any, /) -> bool:
        """Whether the instance conforms."""
        ...


def schema_text(schema: Mapping[str, Any]) -> str:
    """The schema as JSON text: the form in which it is compiled, and remembered once compiled.

    Raises `InvalidSchema` for one that JSON cannot hold, or nested too deeply.
    """
    try:
        return json.dumps(schema, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        raise InvalidSchema("", "invalid_schema", "Not JSON, or nested too deeply") from None


def compile_schema(text: str) -> Validator:
    """Compile a schema.

    Raises `InvalidSchema`: for a bad keyword or pattern, for every reference to outside, and for a schema whose
    subschemas are evaluated too often.
    """
    import jsonschema_rs  # noqa: PLC0415 loaded by the works that have a schema

    if len(text) > MAX_SCHEMA_LENGTH:
        raise InvalidSchema("", "schema_too_large", f"A schema may have {MAX_SCHEMA_LENGTH} characters")
    try:
        validator: Validator = jsonschema_rs.validator_for(
            text,
            validate_formats=False,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(),
            keywords=keywords_for(text),
        )
    except jsonschema_rs.ValidationError as error:
        raise _explained(error) from None
    except (ValueError, RecursionError):
        raise InvalidSchema("", "invalid_schema", "Not a valid JSON Schema") from None
    _check_cost(text)
    return validator


def _check_cost(text: str) -> None:
    try:
        too_complex = is_too_complex(text)
    except Unresolvable:
        raise InvalidSchema("", "unresolvable_ref", "A $ref must lead to a subschema by its plain address") from None
    if too_complex:
        message = (
            f"An output could cause more than {MAX_EVALUATIONS} evaluations of subschemas at one place: let fewer of "
            "allOf, anyOf, oneOf, if and not lead to the same definitions"
        )
        raise InvalidSchema("", "schema_too_complex", message)


def _explained(error: Any) -> InvalidSchema:
    path, keyword = join(*error.instance_path), error.kind.name
    if keyword == "$ref":
        message = "A $ref or $schema leads outside the schema; nothing is ever fetched"
        return InvalidSchema(path, "unresolvable_ref", message)
    if keyword == "format":
        return InvalidSchema(path, "invalid_pattern", "Not a pattern without lookaround and back-references")
    return InvalidSchema(path, "invalid_schema", f"Not a valid JSON Schema (violates {keyword!r} of its meta-schema)")


def conforms(validator: Validator, instance: Any) -> bool:
    """Whether the instance conforms. Raises `NotJson` for one that JSON cannot hold, or nested too deeply.

    The validator recurses natively: nesting without limit would overflow the stack and end the process.
    """
    try:
        return validator.is_valid(instance if _is_plain(instance) else _through_text(instance))
    except (RecursionError, TypeError, ValueError) as error:  # lone surrogates are a ValueError too
        raise NotJson(f"not JSON, or nested too deeply ({type(error).__name__})") from None


def _through_text(instance: Any) -> Any:
    """The instance as it comes back from JSON text: numbers that keep their own text become plain ones."""
    return json.loads(json.dumps(instance, allow_nan=False, ensure_ascii=False).encode())


_MAYBE_NOT_FINITE = tuple(re.compile(last + rb"(?<=[g\xe7].{6}[\xf0-\xff].)", re.DOTALL) for last in (b"\x7f", b"\xff"))
"""What NaN and the infinities are in marshal's form: a tag `g` (with or without the flag of a shared value) and eight
bytes, whose last two hold the exponent. The validator would take them for null. Two patterns, since one that begins
with a literal byte is searched ten times as fast.
"""


def _is_plain(instance: Any) -> bool:
    """Whether the instance is made of built-in types, not nested deeply, with finite numbers: told by marshal, fast.

    Others, and the few whose bytes look otherwise by chance, take the way through JSON text, which refuses what is no
    JSON. Lone surrogates the validator notices itself, where a keyword looks at them.
    """
    try:
        plain = marshal.dumps(instance)
    except ValueError:
        return False
    return not any(pattern.search(plain) for pattern in _MAYBE_NOT_FINITE)
