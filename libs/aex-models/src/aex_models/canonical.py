"""Canonical JSON (RFC 8785) and digests of it: the one form in which records are stored and hashed."""

import hashlib
from typing import Any

import rfc8785
from pydantic import BaseModel

from aex_models.numbers import MAX_SAFE_INTEGER


class NotCanonical(ValueError):
    """A value that I-JSON cannot hold; `path` is a JSON pointer to it."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or '/'}: {problem}")
        self.path = path
        self.problem = problem


def canonical_bytes(value: Any) -> bytes:
    """The RFC 8785 form of a JSON value or of a model. Raises `NotCanonical`, naming the path."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    try:
        return rfc8785.dumps(plain)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        path, problem = _find_problem(plain, "") or ("", str(error))
        raise NotCanonical(path, problem) from error


def digest(value: Any) -> str:
    """SHA-256 over the canonical form, in lower-case hexadecimal."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def sha256_hex(content: bytes) -> str:
    """SHA-256 of bytes, in lower-case hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _find_problem(value: Any, path: str) -> tuple[str, str] | None:
    if isinstance(value, dict):
        pairs = [(f"{path}/{escape_pointer(str(key))}", item) for key, item in value.items()]
        odd = next((key for key in value if not isinstance(key, str)), None)
        if odd is not None:
            return path, "object keys must be strings"
    elif isinstance(value, list | tuple):
        pairs = [(f"{path}/{position}", item) for position, item in enumerate(value)]
    else:
        problem = _scalar_problem(value)
        return (path, problem) if problem else None
    return next((found for where, item in pairs if (found := _find_problem(item, where))), None)


def _scalar_problem(value: Any) -> str | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return "integers must be within ±(2^53 − 1)" if abs(value) > MAX_SAFE_INTEGER else None
    if isinstance(value, float):
        return None if value - value == 0 else "numbers must be finite"
    if isinstance(value, str):
        return "strings must hold no lone surrogates" if any("\ud800" <= c <= "\udfff" for c in value) else None
    return f"{type(value).__name__} is not a JSON type"


def escape_pointer(key: str) -> str:
    """One key as a segment of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
