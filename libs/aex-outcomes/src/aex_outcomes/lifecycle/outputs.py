"""What a producer returned, as the JSON that candidates are made of."""

from typing import Any

import structlog
from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from aex_models.canonical import NotCanonical, canonical_bytes
from aex_models.contract import Candidate, ExecutionMetadata
from aex_models.work import Problem
from aex_outcomes.lifecycle.depth import MAX_DEPTH, too_deep
from aex_outcomes.lifecycle.hashing import candidate_hash
from aex_outcomes.lifecycle.messages import as_json
from aex_outcomes.lifecycle.output_type import nested, not_json

_log = structlog.get_logger(__name__)
_UNTOLD = "…"


def taken(found: Any) -> tuple[Candidate, Problem | None]:
    """What a producer returned, an output or a `Candidate`, as JSON that is the loop's alone; and why it is none.

    Where that is its depth, its output is stood in for by an ellipsis. Raises `TypeError` for what has no JSON form.
    """
    whole = found if isinstance(found, Candidate) else Candidate(output=found)
    if (path := too_deep(whole, MAX_DEPTH + 1)) is not None:
        return Candidate(output=_UNTOLD), nested(path)
    metadata = ExecutionMetadata.model_validate(as_json(whole.execution_metadata))
    changes = {"execution_metadata": metadata, "output": output_json(whole.output)}
    candidate = whole.model_copy(update={"output": None}).model_copy(update=changes, deep=True)
    return candidate, problem_of(candidate)


def problem_of(candidate: Candidate) -> Problem | None:
    """Why a candidate can be neither hashed nor saved, where that is so."""
    if (path := too_deep(candidate, MAX_DEPTH + 1)) is not None:
        return nested(path)
    try:
        candidate_hash(candidate)
    except NotCanonical as error:
        return not_json(error)
    return None


def output_json(output: Any) -> Any:
    """An output in its JSON form. It may still hold NaN.

    A model is written under the names that its own class reads: a verifier is given it read back. Raises `TypeError`
    for what has no JSON form, and for a model that cannot be read back, naming the fix.
    """
    if not isinstance(output, BaseModel):
        return as_json(output)
    kind, failures = type(output), list[ValidationError]()
    for by_alias in (True, False):
        written = _written(output, by_alias)
        try:
            again = kind.model_validate_json(canonical_bytes(written))
        except NotCanonical:
            return written  # told as an invalid output, with its path
        except ValidationError as error:
            failures.append(error)
            continue
        if again.__dict__ != output.__dict__:
            # A secret, an excluded field, a subclass in a field of its base class.
            _log.warning("output_changed_by_json", model=kind.__name__)
        return written
    raise TypeError(
        f"A {kind.__name__} that its own class does not read back from JSON ({_first(failures[0])}): outputs are "
        "stored, hashed and verified as JSON; give its serialiser and its validator the same names and forms"
    ) from failures[0]


def _written(output: BaseModel, by_alias: bool) -> Any:
    try:
        return to_jsonable_python(output, by_alias=by_alias, round_trip=True)
    except Exception:  # noqa: BLE001 a serialiser of the producer's own
        return as_json(output)  # which says what to do


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
