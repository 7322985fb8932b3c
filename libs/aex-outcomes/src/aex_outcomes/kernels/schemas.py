"""JSON Schema: compiled once, never fetching a reference, with patterns on a linear-time engine.

Draft 2020-12 unless `$schema` names another published draft; `format` is an annotation, not a check.
"""

import json
import marshal
from collections.abc import Mapping
from typing import Any, Protocol

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
    """Compile a schema. Raises `InvalidSchema`: for a bad keyword or pattern, and for every reference to outside."""
    import jsonschema_rs  # noqa: PLC0415 loaded by the works that have a schema

    if len(text) > MAX_SCHEMA_LENGTH:
        raise InvalidSchema("", "schema_too_large", f"A schema may have {MAX_SCHEMA_LENGTH} characters")
    try:
        return jsonschema_rs.validator_for(
            text,
            validate_formats=False,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(),
        )
    except jsonschema_rs.ValidationError as error:
        raise _explained(error) from None
    except (ValueError, RecursionError):
        raise InvalidSchema("", "invalid_schema", "Not a valid JSON Schema") from None


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
        return validator.is_valid(instance if _is_plain(instance) else json.loads(json.dumps(instance)))
    except (RecursionError, TypeError, ValueError) as error:  # lone surrogates are a ValueError too
        raise NotJson(f"not JSON, or nested too deeply ({type(error).__name__})") from None


def _is_plain(instance: Any) -> bool:
    """Whether the instance is made of built-in types and not nested deeply: marshal takes nothing else, fast.

    Others take the round trip through JSON text: numbers that keep their own text become plain ones.
    """
    try:
        marshal.dumps(instance)
    except ValueError:
        return False
    return True
