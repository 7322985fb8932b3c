"""The ruling of a verifier on an output, and its JSON of bounded size.

A final result is the operator's: one that JSON cannot hold is raised as an error. A rejection may quote a hostile
candidate: it stands, however invalid or long the quoted text is.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter
from pydantic_core import to_jsonable_python

from aex_models.canonical import NotCanonical, canonical_bytes, find_json_problem
from aex_models.frozen import Frozen
from aex_models.numbers import MAX_SAFE_INTEGER
from aex_models.results import VerificationResult
from aex_models.work import Problem
from aex_outcomes.json_values import MAX_DEPTH, MAX_RESULT_DEPTH, find_excess_depth
from aex_outcomes.lifecycle.rejection import REJECTED, to_text_or_type_name
from aex_outcomes.named_code import describe_error


class Rejection(Frozen):
    """A stored rejection: a `VerificationRejected`, or the message of a `FatalAgentError`."""

    message: str
    code: str = REJECTED
    metadata: dict[str, Any] = {}


class Accepted(Frozen):
    """A passed output."""

    ruling: Literal["accepted"] = "accepted"
    final_result: Any = None
    """The verifier's return value."""


class Rejected(Frozen):
    """An output for which the verifier raised `VerificationRejected` or, if `fatal`, `FatalAgentError`."""

    ruling: Literal["rejected"] = "rejected"
    rejection: Rejection
    fatal: bool = False
    result: VerificationResult | None = None
    """The engine's result, when the criteria engine is the verifier."""


class Invalid(Frozen):
    """An output that does not validate into the verifier's output type, without a verdict."""

    ruling: Literal["invalid"] = "invalid"
    errors: tuple[Problem, ...]


Ruling = Accepted | Rejected | Invalid
RULING: TypeAdapter[Ruling] = TypeAdapter(Annotated[Ruling, Field(discriminator="ruling")])
"""The parser of a worker's JSON."""
MAX_FINAL_RESULT_BYTES = 10_000_000
"""Bytes of the canonical form: those of a request, since a final result often is the output."""
MAX_METADATA_BYTES = 65_536
MAX_MESSAGE, MAX_CODE = 4_000, 100
"""Characters."""
_CUT = "…"


class FinalResultRefused(ValueError):
    """A final result that JSON cannot hold, or that is too large: the operator's mistake."""

    def __init__(self, verifier: str, problem: str) -> None:
        super().__init__(f"the final result of the verifier {verifier} cannot be used: {problem}")


def serialize_ruling(ruling: Ruling, verifier: str) -> dict[str, Any]:
    """Return the ruling as canonical JSON for `RULING`. Raises `FinalResultRefused`."""
    if isinstance(ruling, Accepted):
        return {"ruling": ruling.ruling, "final_result": serialize_final_result(ruling.final_result, verifier)}
    if isinstance(ruling, Rejected):
        ruling = ruling.model_copy(update={"rejection": truncate_rejection(ruling.rejection)})
    return ruling.model_dump(mode="json")


def serialize_final_result(value: Any, verifier: str) -> Any:
    """Return a final result in its JSON form, models, dates, decimals and enumerations included.

    Raises `FinalResultRefused` for NaN, integers beyond ±(2^53 − 1), lone surrogates, cycles and types without a JSON
    form, with the JSON pointer where there is one. Also beyond 10 MB, and for nesting above 128 levels.
    """
    try:
        plain = to_jsonable_python(value)
        canonical = canonical_bytes(plain)
    except NotCanonical as error:
        raise FinalResultRefused(verifier, str(error)) from None
    except Exception as error:  # pydantic's own, or of the operator's serialiser
        raise FinalResultRefused(verifier, describe_error(error)) from error
    if len(canonical) > MAX_FINAL_RESULT_BYTES:
        raise FinalResultRefused(verifier, f"{len(canonical)} bytes of JSON, above {MAX_FINAL_RESULT_BYTES}")
    if find_excess_depth(plain, MAX_RESULT_DEPTH) is not None:
        raise FinalResultRefused(verifier, f"it is nested more than {MAX_RESULT_DEPTH} levels deep")
    return _read(canonical)


def truncate_rejection(rejection: Rejection) -> Rejection:
    """Return a rejection that can be saved, sent and read back, whatever it quotes."""
    return Rejection(
        message=_bound_text(rejection.message, MAX_MESSAGE),
        code=_bound_text(rejection.code, MAX_CODE),
        metadata=_metadata(rejection.metadata),
    )


def _metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return as many members as fit, with the text or the type of a value that JSON cannot hold."""
    members: dict[str, Any] = {}
    remaining = MAX_METADATA_BYTES
    for key, value in metadata.items():
        member = canonical_bytes({_bound_text(to_text_or_type_name(key), MAX_CODE): _storable_member(value)})
        remaining -= len(member)
        if remaining < 0:
            break
        members |= _read(member)
    return members


def _read(canonical: bytes) -> Any:
    """Parse canonical JSON. 1e17 is canonically an integer, which strict readers refuse: return a float."""
    return json.loads(
        canonical, parse_int=lambda text: int(text) if abs(int(text)) <= MAX_SAFE_INTEGER else float(text)
    )


def _storable_member(value: Any) -> Any:
    try:
        return _to_storable(to_jsonable_python(value, bytes_mode="base64", serialize_unknown=True))
    except Exception:  # noqa: BLE001 a cycle or a foreign serialiser: the rejection stands
        return f"<{type(value).__name__}>"


def _to_storable(value: Any, levels: int = MAX_DEPTH - 1) -> Any:
    """Replace unstorable values. `levels`: the remaining depth."""
    if isinstance(value, dict | list) and levels == 0:
        return _CUT
    if isinstance(value, dict):
        return {_replace_surrogates(key): _to_storable(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_to_storable(item, levels - 1) for item in value]
    if isinstance(value, str):
        return _replace_surrogates(value)
    return str(value) if find_json_problem(value) else value


def _bound_text(text: str, limit: int) -> str:
    return _replace_surrogates(text if len(text) <= limit else text[: limit - 1] + _CUT)


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which a verifier gets from JSON that an agent wrote."""
    return text.encode("utf-8", "replace").decode()
