"""Canonical JSON (RFC 8785) and its SHA-256 digest: the form in which records are stored and hashed.

For most values the encoder of the standard library writes the same bytes as a complete implementation, and is several
times faster. Such values have ASCII keys, integers within ±(2^53 − 1) and floats that are written without an exponent.
"""

import hashlib
import json
from typing import Any, NamedTuple

import rfc8785
from pydantic import BaseModel

from aex_models.numbers import MAX_SAFE_INTEGER, convert_large_integers_to_doubles, is_exact_as_double

_ENCODE = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
).encode
_LEAST, _MOST = 1e-4, 1e15
"""Within these, `repr` and ECMAScript write the same shortest digits without an exponent."""


class _Uncommon(Exception):
    """The signal that a value needs the complete implementation of RFC 8785."""


def canonical_fast(value: Any) -> bytes | None:
    """Return the canonical bytes of a JSON value; None if only the complete implementation can encode it."""
    try:
        return _ENCODE(_plain_value(value)).encode()
    except (_Uncommon, UnicodeEncodeError, RecursionError):
        return None


def _plain_value(value: Any) -> Any:
    """Return the value with whole floats as integers. Raises `_Uncommon` if it needs the slow encoder."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is int and -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        return value
    if kind is dict and all(type(key) is str and key.isascii() for key in value):
        return {key: _plain_value(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        if {*map(type, value)} == {str}:  # labels, often, by the thousand
            return value
        return [_plain_value(item) for item in value]
    if isinstance(value, float) and (value == 0 or _LEAST <= abs(value) < _MOST):
        return int(value) if value.is_integer() else float(value)  # also −0 as 0
    raise _Uncommon  # also for NaN and the infinities


class NotCanonical(ValueError):
    """The error for a value that I-JSON (RFC 7493) cannot hold; `path` is the JSON pointer to it."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or '/'}: {problem}")
        self.path = path
        self.problem = problem


def canonical_bytes(value: Any) -> bytes:
    """Return the canonical JSON (RFC 8785) of a JSON value or of a model, as UTF-8.

    If the bytes are parsed and encoded again, the result is equal.
    Raises `NotCanonical` with the JSON pointer of a value that I-JSON cannot hold.
    """
    plain = to_json_values(value) if isinstance(value, BaseModel) else value
    if (quick := canonical_fast(plain)) is not None:
        return quick
    try:
        return rfc8785.dumps(plain)
    except RecursionError as error:
        raise NotCanonical("", "nested too deeply") from error
    except (rfc8785.CanonicalizationError, ValueError) as error:  # integers beyond 4,300 digits, lone surrogates
        if problem := find_json_problem(plain):
            raise NotCanonical(*problem) from error
        return rfc8785.dumps(convert_large_integers_to_doubles(plain))


def to_json_values(model: BaseModel, *, exclude_none: bool = False) -> dict[str, Any]:
    """Return a model as a dictionary of JSON values.

    Raises `NotCanonical` for a field that JSON cannot hold.
    """
    try:
        return model.model_dump(mode="json", exclude_none=exclude_none)
    except ValueError as error:  # also pydantic's own for objects that it does not know
        raise NotCanonical("", "not JSON, or nested too deeply") from error


def canonical_digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, in lower-case hexadecimal. Raises `NotCanonical`."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def sha256_hex(content: bytes) -> str:
    """Return the SHA-256 of bytes, in lower-case hexadecimal."""
    return hashlib.sha256(content).hexdigest()


class JsonProblem(NamedTuple):
    """Part of a value that I-JSON cannot hold."""

    pointer: str
    """JSON pointer of the part."""
    description: str
    """Reason for which I-JSON cannot hold it."""


def find_json_problem(value: Any) -> JsonProblem | None:
    """Return the first part of a value that I-JSON cannot hold; None if it can hold the value."""
    try:
        return _problem_in(value, "")
    except RecursionError:
        return JsonProblem("", "nested too deeply")


def _problem_in(value: Any, path: str) -> JsonProblem | None:
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            return JsonProblem(path, "object keys must be strings")
        if any(_has_surrogate(key) for key in value):
            return JsonProblem(path, "object keys must hold no lone surrogates")
        parts = ((f"{path}/{escape_pointer_segment(key)}", item) for key, item in value.items())
    elif isinstance(value, list | tuple):
        parts = ((f"{path}/{position}", item) for position, item in enumerate(value))
    else:
        problem = _scalar_problem(value)
        return JsonProblem(path, problem) if problem else None
    return next((found for where, item in parts if (found := _problem_in(item, where))), None)


def _scalar_problem(value: Any) -> str | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return None if is_exact_as_double(value) else "integers must be within ±(2^53 − 1)"
    if isinstance(value, float):
        return None if value - value == 0 else "numbers must be finite"
    if isinstance(value, str):
        return "strings must hold no lone surrogates" if _has_surrogate(value) else None
    return f"{type(value).__name__} is not a JSON type"


def _has_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:  # UTF-8 lacks surrogates alone
        return True
    return False


def escape_pointer_segment(key: str) -> str:
    """Return an object key escaped as one segment of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def is_json_pointer(text: str) -> bool:
    """Return True if the text is a JSON pointer: empty, or segments that each begin with a slash."""
    bad_escape = text.replace("~0", "").replace("~1", "").count("~")
    return (not text or text.startswith("/")) and not bad_escape
