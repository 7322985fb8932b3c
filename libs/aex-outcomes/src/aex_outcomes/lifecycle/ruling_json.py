"""A ruling as JSON of bounded size. (The errors of an invalid output are bounded where they are made.)

What a verifier returns is its operator's: a final result that JSON cannot hold is a mistake, and is raised. What it
raises is about a hostile candidate, and may quote it: a rejection stands, however odd or long what it quotes.
"""

import json
from typing import Any

from pydantic_core import to_jsonable_python

from aex_models.canonical import NotCanonical, canonical_bytes, json_problem
from aex_models.numbers import MAX_SAFE_INTEGER
from aex_outcomes.lifecycle.depth import MAX_DEPTH, MAX_RESULT_DEPTH, too_deep
from aex_outcomes.lifecycle.rejection import as_text
from aex_outcomes.lifecycle.ruling import RULING, Accepted, Rejected, Rejection, Ruling
from aex_outcomes.named_code import said_by

MAX_FINAL_RESULT_BYTES = 10_000_000
"""Of its canonical form: what a request may have, since a final result often is the output, tidied up."""
MAX_METADATA_BYTES = 65_536
MAX_MESSAGE, MAX_CODE = 4_000, 100
"""Characters. All feedback together has 4 kB."""
_CUT = "…"


class FinalResultRefused(ValueError):
    """A verifier returned what JSON cannot hold, or too much: its operator's mistake, never the agent's."""

    def __init__(self, verifier: str, problem: str) -> None:
        super().__init__(f"the final result of the verifier {verifier} cannot be used: {problem}")
        self.verifier = verifier


def ruling_json(ruling: Ruling, verifier: str) -> dict[str, Any]:
    """The ruling as canonical JSON that `RULING` reads. Raises `FinalResultRefused`, naming the verifier."""
    if isinstance(ruling, Accepted):
        return {"ruling": ruling.ruling, "final_result": final_result_json(ruling.final_result, verifier)}
    told = (
        ruling.model_copy(update={"rejection": bounded(ruling.rejection)}) if isinstance(ruling, Rejected) else ruling
    )
    dumped: dict[str, Any] = RULING.dump_python(told, mode="json")
    return dumped


def final_result_json(value: Any, verifier: str) -> Any:
    """What a verifier returned in its JSON form: models, dataclasses, dates, decimals and enumerations included.

    Raises `FinalResultRefused` for what has none (NaN, integers beyond ±(2^53 − 1), lone surrogates, cycles, a type
    of which pydantic knows no JSON form), with its JSON pointer where there is one, beyond 10 MB, and for what nests
    deeper than 128 levels.
    """
    try:
        plain = to_jsonable_python(value)
        canonical = canonical_bytes(plain)
    except NotCanonical as error:
        raise FinalResultRefused(verifier, str(error)) from None
    except Exception as error:  # pydantic's own, and what a serialiser of the operator's raises
        raise FinalResultRefused(verifier, said_by(error)) from error
    if len(canonical) > MAX_FINAL_RESULT_BYTES:
        raise FinalResultRefused(verifier, f"{len(canonical)} bytes of JSON, above {MAX_FINAL_RESULT_BYTES}")
    if too_deep(plain, MAX_RESULT_DEPTH) is not None:
        raise FinalResultRefused(verifier, f"it is nested more than {MAX_RESULT_DEPTH} levels deep")
    return _read(canonical)


def bounded(said: Rejection) -> Rejection:
    """A rejection that can be saved, sent and read back, whatever it quotes."""
    return Rejection(
        message=_text(said.message, MAX_MESSAGE), code=_text(said.code, MAX_CODE), metadata=_metadata(said.metadata)
    )


def _metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """In their order as many members as fit, none of them deeper than any reader takes.

    What JSON cannot hold is told by its text, or else by its type.
    """
    kept: dict[str, Any] = {}
    room = MAX_METADATA_BYTES
    for key, value in metadata.items():
        member = canonical_bytes({_text(as_text(key), MAX_CODE): _told(value)})
        room -= len(member)
        if room < 0:
            break
        kept |= _read(member)
    return kept


def _read(canonical: bytes) -> Any:
    """What any JSON reader makes of it: 1e17 is canonically an integer, and one that a strict reader does not take."""
    return json.loads(canonical, parse_int=_number)


def _number(text: str) -> int | float:
    whole = int(text)
    return whole if abs(whole) <= MAX_SAFE_INTEGER else float(text)


def _told(value: Any) -> Any:
    try:
        return _holdable(to_jsonable_python(value, bytes_mode="base64", serialize_unknown=True))
    except Exception:  # noqa: BLE001 a cycle, a serialiser of the operator's: the rejection stands all the same
        return f"<{type(value).__name__}>"


def _holdable(value: Any, room: int = MAX_DEPTH - 1) -> Any:
    """`room`: how many more levels there may be."""
    if isinstance(value, dict | list) and room == 0:
        return _CUT
    if isinstance(value, dict):
        return {_whole(key): _holdable(item, room - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_holdable(item, room - 1) for item in value]
    if isinstance(value, str):
        return _whole(value)
    return str(value) if json_problem(value) else value


def _text(text: str, most: int) -> str:
    return _whole(text if len(text) <= most else text[: most - 1] + _CUT)


def _whole(text: str) -> str:
    """Without lone surrogates, which a verifier finds where it parses JSON that an agent wrote."""
    return text.encode("utf-8", "replace").decode()
