"""Validation of untrusted outputs by a pydantic type, with bounded depth and few errors."""

import inspect
from collections.abc import Mapping
from typing import Any, ParamSpec, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

from aex_models.canonical import NotCanonical, canonical_bytes
from aex_models.work import Problem
from aex_outcomes.formatting import truncate
from aex_outcomes.json_values import MAX_DEPTH, find_pointer_beyond_depth
from aex_outcomes.lifecycle.signature import InvalidVerifier
from aex_outcomes.submission.findings import convert_validation_error

_COLLECTIONS = frozenset(
    {"list", "deque", "tuple", "set", "frozenset", "dict", "frozendict", "ordered-dict", "counter"}
)  # fmt: skip
"""Kinds of pydantic's core schema with an unbounded number of items."""
_NO_SCHEMAS = frozenset(
    {
        "cls", "config", "computed_fields", "custom_error_context", "default", "default_factory", "discriminator",
        "expected", "function", "generic_origin", "members", "metadata", "missing", "serialization",
    }
)  # fmt: skip
"""Keys of a core schema whose values are not schemas."""
_BY_NAME = frozenset({"choices", "fields"})
"""Keys of a core schema that map names, chosen by the type's author, to schemas."""


_FINITE = {"float": {"allow_inf_nan": False}, "decimal": {"allow_inf_nan": False}}
"""Changes that allow only finite numbers: the texts "nan" and "inf" would be read as numbers."""
_FAIL_FAST = {kind: {"fail_fast": True} for kind in _COLLECTIONS}
"""Changes by which validation of a collection ends at its first invalid item, so that there are few errors."""


def _with_changes(schema: Any, changes: Mapping[str, dict[str, Any]]) -> Any:
    """Return the core schema in which all inner schemas of these kinds are changed."""
    if isinstance(schema, list):
        return [_with_changes(each, changes) for each in schema]
    if isinstance(schema, tuple):  # a member of a union, and its label
        return tuple(_with_changes(each, changes) for each in schema)
    if not isinstance(schema, dict):
        return schema
    copied = {key: each if key in _NO_SCHEMAS else _inner_schema(key, each, changes) for key, each in schema.items()}
    return copied | changes.get(schema.get("type", ""), {})


def _inner_schema(key: str, schema: Any, changes: Mapping[str, dict[str, Any]]) -> Any:
    if key in _BY_NAME and isinstance(schema, dict):
        return {name: _with_changes(each, changes) for name, each in schema.items()}
    return _with_changes(schema, changes)


NOT_JSON, TOO_DEEP, TOO_MANY = "not_canonical_json", "json_too_deep", "too_many_errors"
MAX_PROBLEMS = 50
_MAX_VALUES = 2_000
"""Maximum of an output's values for which all errors are collected: an error takes some 400 bytes."""
_MAX_ERRORS = 5_000
"""Maximum of errors of which the first are reported; beyond it only their number is."""
_OUTPUT = "/output"
_TAGS = "expected tags: "


class InvalidOutput(Exception):
    """Error for an output that does not match the output type; `problems` point into the candidate."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{each.path}: {each.message}" for each in problems))
        self.problems = problems


class OutputType:
    """Validator of outputs by a type; its time and memory grow with the output and not with its errors.

    Numbers must be finite, whatever a model configures. For an output with thousands of values only the errors of the
    first invalid item are reported.
    """

    def __init__(self, output_type: Any) -> None:
        """Build the validators. Raises `InvalidVerifier` for a type that pydantic cannot validate into."""
        adapter = _type_adapter(output_type)
        schema = _with_changes(adapter.core_schema, _FINITE)
        # A prebuilt validator would apply the model's own configuration.
        self._full_validator = SchemaValidator(schema, _use_prebuilt=False)
        self._fast_validator = SchemaValidator(_with_changes(schema, _FAIL_FAST), _use_prebuilt=False)

    def validate(self, output: Any) -> Any:
        """Validate an output through JSON, and return a new value of the output type.

        Raises `InvalidOutput`, and any exception of the type's own validators except `RecursionError`.
        """
        try:
            canonical = canonical_bytes(output)
        except NotCanonical as error:
            raise InvalidOutput((build_not_json_problem(error, _OUTPUT),)) from error
        if (
            canonical.count(b"[") + canonical.count(b"{") > MAX_DEPTH
            and (path := find_pointer_beyond_depth(output)) is not None
        ):
            raise InvalidOutput((build_nesting_problem(path, _OUTPUT),))
        try:
            return self._validate_json(canonical)
        except ValidationError as error:
            raise InvalidOutput(_problems(error, output)) from error
        except RecursionError as error:
            raise InvalidOutput((build_nesting_problem("", _OUTPUT),)) from error

    def _validate_json(self, canonical: bytes) -> Any:
        if canonical.count(b",") <= _MAX_VALUES:
            try:
                return self._full_validator.validate_json(canonical)
            except ValidationError as error:
                if error.error_count() <= _MAX_ERRORS:
                    raise
        return self._fast_validator.validate_json(canonical)


def build_not_json_problem(error: NotCanonical, root: str = "") -> Problem:
    """Return the problem of a candidate that I-JSON cannot represent. `root` precedes its JSON pointer."""
    return _bound_problem(Problem(path=f"{root}{error.path}", code=NOT_JSON, message=error.problem))


def build_nesting_problem(pointer: str, root: str = "") -> Problem:
    """Return the problem of a candidate that is nested too deeply, at the JSON pointer `root` + `pointer`."""
    message = f"JSON is nested too deeply: an output has at most {MAX_DEPTH} levels"
    return _bound_problem(Problem(path=f"{root}{pointer}", code=TOO_DEEP, message=message))


def _problems(error: ValidationError, output: Any) -> tuple[Problem, ...]:
    if error.error_count() > _MAX_ERRORS:
        message = f"{error.error_count()} errors, more than can be listed: the output is of another shape altogether"
        return (Problem(path=_OUTPUT, code=TOO_MANY, message=message),)
    return tuple(map(_bound_problem, convert_validation_error(error, output, _OUTPUT, MAX_PROBLEMS)))


def _type_adapter(output_type: Any) -> TypeAdapter[Any]:
    type_name = inspect.formatannotation(output_type)
    if _is_open(output_type):
        raise InvalidVerifier(f"output_type {type_name} has a type variable, which any output would fit: give the type")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(output_type)
        complete = adapter.pydantic_complete or adapter.rebuild()
    except Exception as error:
        problem = (str(error).splitlines() or [type(error).__name__])[0]
        raise InvalidVerifier(f"output_type {type_name} is no type that pydantic can validate: {problem}") from error
    if not complete:
        raise InvalidVerifier(f"output_type {type_name} names a type that is not there: give the type itself")
    return adapter


def _is_open(output_type: Any) -> bool:
    """Return True for a type that contains a type variable, such as `T`, `list[T]` or `T | None`."""
    return isinstance(output_type, TypeVar | ParamSpec) or any(map(_is_open, get_args(output_type)))


def _bound_problem(problem: Problem) -> Problem:
    """Return the problem with its texts truncated.

    The message about an unknown union tag quotes the output; the quotation is removed.
    """
    message = problem.message
    if problem.code == "union_tag_invalid":
        message = f"Input tag does not match any of the {_TAGS}{message.rpartition(_TAGS)[2]}"
    return Problem(path=truncate(problem.path), code=truncate(problem.code), message=truncate(message))
