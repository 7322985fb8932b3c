"""Candidates as producers return them, and their SHA-256 digests over RFC 8785 canonical JSON."""

from base64 import b64decode
from typing import Any

import structlog
from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from aex_models.canonical import NotCanonical, canonical_bytes, canonical_digest, sha256_hex, to_json_values
from aex_models.contract import Artifact, Candidate, ExecutionMetadata
from aex_models.validation_messages import message_of
from aex_models.work import Problem
from aex_outcomes.json_values import MAX_DEPTH, find_noncanonical_spellings, find_pointer_beyond_depth
from aex_outcomes.lifecycle.messages import to_json_value
from aex_outcomes.lifecycle.output_type import build_nesting_problem, build_not_json_problem


def candidate_hash(candidate: Candidate) -> str:
    """Return the SHA-256 of all parts of a candidate that its verdict depends on, such as its claims.

    The decimals of a claim matter, because 11.17 and 11.170 may have different verdicts. So do the media types and the
    order of artifacts. A stored candidate has the same hash after `restore_claim_texts`. Raises
    `aex_models.canonical.NotCanonical`, with a JSON pointer, for a value that I-JSON cannot represent.
    """
    claim_spellings = find_noncanonical_spellings(candidate.claimed_values)
    return canonical_digest(
        {
            "output": candidate.output,
            "execution_metadata": to_json_values(candidate.execution_metadata, exclude_none=True),
            "claimed_metrics": candidate.claimed_metrics,
            "claimed_values": candidate.claimed_values,
            "reasoning": candidate.reasoning,
            **({"claim_texts": claim_spellings} if claim_spellings else {}),
            "artifacts": [[each.name, each.media_type, _artifact_digest(each)] for each in candidate.artifacts],
        }
    )


def output_hash(output: Any) -> str:
    """Return the SHA-256 of the output alone, by which governance finds duplicates."""
    return canonical_digest(output)


def _artifact_digest(artifact: Artifact) -> str:
    """Return the SHA-256 of an artifact's bytes: of its content, or as declared for an upload."""
    if artifact.content_base64 is not None:
        return artifact.sha256 or sha256_hex(b64decode(artifact.content_base64))
    return artifact.sha256 or sha256_hex((artifact.content or "").encode())


_log = structlog.get_logger(__name__)
_ELLIPSIS = "…"


def parse_producer_result(returned: Any) -> tuple[Candidate, Problem | None]:
    """Convert a producer's return value, an output or a `Candidate`, to a candidate of JSON values.

    Also returns the problem of a candidate that can be neither hashed nor saved, else None. An ellipsis replaces an
    output that is nested too deeply. Raises `TypeError` for a value without a JSON form.
    """
    candidate_in = returned if isinstance(returned, Candidate) else Candidate(output=returned)
    if (path := find_pointer_beyond_depth(candidate_in, MAX_DEPTH + 1)) is not None:
        return Candidate(output=_ELLIPSIS), build_nesting_problem(path)
    metadata = ExecutionMetadata.model_validate(to_json_value(candidate_in.execution_metadata))
    changes = {"execution_metadata": metadata, "output": to_output_json(candidate_in.output)}
    candidate = candidate_in.model_copy(update={"output": None}).model_copy(update=changes, deep=True)
    return candidate, find_candidate_problem(candidate)


def find_candidate_problem(candidate: Candidate) -> Problem | None:
    """Return the problem of a candidate that is nested too deeply or not valid I-JSON, else None."""
    if (path := find_pointer_beyond_depth(candidate, MAX_DEPTH + 1)) is not None:
        return build_nesting_problem(path)
    try:
        candidate_hash(candidate)
    except NotCanonical as error:
        return build_not_json_problem(error)
    return None


def to_output_json(output: Any) -> Any:
    """Convert an output to JSON values; NaN may remain.

    A pydantic model is written with the field names or aliases by which its class reads it back. Logs a warning if the
    value read back differs. Raises `TypeError`, which names the fix, for an output without a JSON form, and for a model
    that cannot be read back.
    """
    if not isinstance(output, BaseModel):
        return to_json_value(output)
    kind, failures = type(output), list[ValidationError]()
    for by_alias in (True, False):
        written = _serialise(output, by_alias)
        try:
            restored = kind.model_validate_json(canonical_bytes(written))
        except NotCanonical:
            return written  # reported later as an invalid output, with its pointer
        except ValidationError as error:
            failures.append(error)
            continue
        if restored.__dict__ != output.__dict__:
            # A secret, an excluded field, a subclass in a field of its base class.
            _log.warning("output_coerced_to_json", model=kind.__name__)
        return written
    first = failures[0].errors(include_url=False, include_input=False)[0]
    problem = f"{'.'.join(map(str, first['loc']))}: {message_of(first, kind)}"
    raise TypeError(
        f"A {kind.__name__} that its own class does not read back from JSON ({problem}): outputs are "
        "stored, hashed and verified as JSON; give its serialiser and its validator the same names and forms"
    ) from failures[0]


def _serialise(output: BaseModel, by_alias: bool) -> Any:
    try:
        return to_jsonable_python(output, by_alias=by_alias, round_trip=True)
    except Exception:  # noqa: BLE001 a serialiser of the producer's own
        return to_json_value(output)  # its error names the fix
