"""Ruling of a verifier on an output, and its JSON form of bounded size.

A final result that JSON cannot represent is an error of the operator's verifier. A rejection may quote a hostile
candidate: its texts are cut and repaired, so that it is never lost.
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
from aex_outcomes.json_values import MAX_DEPTH, MAX_RESULT_DEPTH, find_pointer_beyond_depth
from aex_outcomes.lifecycle.rejection import REJECTED, to_text_or_type_name
from aex_outcomes.named_code import describe_error


class Rejection(Frozen):
    """Rejection as it is stored: that of a `VerificationRejected` or of a `FatalAgentError`."""

    message: str
    code: str = REJECTED
    metadata: dict[str, Any] = {}


class Accepted(Frozen):
    """Ruling on an output that the verifier accepted."""

    ruling: Literal["accepted"] = "accepted"
    final_result: Any = None
    """Return value of the verifier."""


class Rejected(Frozen):
    """Ruling on an output for which the verifier raised `VerificationRejected` or a fatal error."""

    ruling: Literal["rejected"] = "rejected"
    rejection: Rejection
    fatal: bool = False
    """True for a `FatalAgentError`."""
    result: VerificationResult | None = None
    """Result of the verification engine if the verifier is a `CriteriaVerifier`."""


class Invalid(Frozen):
    """Ruling on an output that does not validate into the verifier's output type; it has no verdict."""

    ruling: Literal["invalid"] = "invalid"
    errors: tuple[Problem, ...]


Ruling = Accepted | Rejected | Invalid
RULING: TypeAdapter[Ruling] = TypeAdapter(Annotated[Ruling, Field(discriminator="ruling")])
"""Parser of a ruling's JSON, as workers send it."""
MAX_FINAL_RESULT_BYTES = 10_000_000
"""Maximum bytes of a final result in canonical form: as of a request, because it often is the output."""
MAX_METADATA_BYTES = 65_536
"""Maximum bytes of a rejection's metadata in canonical form."""
MAX_MESSAGE, MAX_CODE = 4_000, 100
"""Maximum characters of a rejection's message and code."""
_CUT = "…"


class FinalResultRefused(ValueError):
    """Error for a final result that JSON cannot represent or that is too large, by the verifier's fault."""

    def __init__(self, verifier: str, problem: str) -> None:
        super().__init__(f"the final result of the verifier {verifier} cannot be used: {problem}")


def serialize_ruling(ruling: Ruling, verifier_name: str) -> dict[str, Any]:
    """Return the ruling as JSON of bounded size, which `RULING` parses; a rejection's texts are cut.

    Raises `FinalResultRefused`, which names the verifier, for a final result that cannot be used.
    """
    if isinstance(ruling, Accepted):
        return {"ruling": ruling.ruling, "final_result": serialize_final_result(ruling.final_result, verifier_name)}
    if isinstance(ruling, Rejected):
        ruling = ruling.model_copy(update={"rejection": truncate_rejection(ruling.rejection)})
    return ruling.model_dump(mode="json")


def serialize_final_result(value: Any, verifier_name: str) -> Any:
    """Convert a final result to JSON values; models, dates, decimals and enumerations have a JSON form.

    Raises `FinalResultRefused` for NaN, integers beyond ±(2^53 − 1), lone surrogates, cycles and types without a JSON
    form. It is also raised for more than 10 MB or 128 levels.
    """
    try:
        plain = to_jsonable_python(value)
        canonical = canonical_bytes(plain)
    except NotCanonical as error:
        raise FinalResultRefused(verifier_name, str(error)) from None
    except Exception as error:  # pydantic's own, or of the operator's serialiser
        raise FinalResultRefused(verifier_name, describe_error(error)) from error
    if len(canonical) > MAX_FINAL_RESULT_BYTES:
        raise FinalResultRefused(verifier_name, f"{len(canonical)} bytes of JSON, above {MAX_FINAL_RESULT_BYTES}")
    if find_pointer_beyond_depth(plain, MAX_RESULT_DEPTH) is not None:
        raise FinalResultRefused(verifier_name, f"it is nested more than {MAX_RESULT_DEPTH} levels deep")
    return _read(canonical)


def truncate_rejection(rejection: Rejection) -> Rejection:
    """Return the rejection with its texts and metadata cut and made valid JSON, so that it can be saved."""
    return Rejection(
        message=_bound_text(rejection.message, MAX_MESSAGE),
        code=_bound_text(rejection.code, MAX_CODE),
        metadata=_metadata(rejection.metadata),
    )


def _metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return as many members as fit; a value that JSON cannot represent becomes its text or type name."""
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
    """Parse canonical JSON; integers beyond ±(2^53 − 1), such as 1e17 in canonical form, become floats."""
    return json.loads(
        canonical, parse_int=lambda text: int(text) if abs(int(text)) <= MAX_SAFE_INTEGER else float(text)
    )


def _storable_member(value: Any) -> Any:
    try:
        return _to_storable(to_jsonable_python(value, bytes_mode="base64", serialize_unknown=True))
    except Exception:  # noqa: BLE001 a cycle or a foreign serialiser: the rejection stands
        return f"<{type(value).__name__}>"


def _to_storable(value: Any, levels: int = MAX_DEPTH - 1) -> Any:
    """Replace values that cannot be stored; containers more than `levels` deep become an ellipsis."""
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
    """Replace lone surrogates by question marks; an agent's JSON may contain them."""
    return text.encode("utf-8", "replace").decode()
