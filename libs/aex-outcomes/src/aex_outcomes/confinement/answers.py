"""What a worker answers, read as what it may be: hostile."""

from dataclasses import dataclass
from typing import Any

from aex_outcomes.confinement import frames
from aex_outcomes.confinement.errors import ConfinementError, JobFailed, JobOutOfMemory

_MAX_KIND, _MAX_MESSAGE = 100, 2_000


@dataclass(frozen=True, slots=True)
class Answer:
    """A job's end: its result or its error, and whether the worker asks to be replaced."""

    result: dict[str, Any]
    error: ConfinementError | None
    retire: bool


def read_answer(body: bytes) -> Answer:
    """Raises `BrokenFrame` for anything that no honest worker writes."""
    match frames.decode(body):
        case {"result": dict(result), "retire": bool(retire), **rest} if not rest:
            return Answer(result, None, retire)
        case {"error": {"kind": str(kind), "message": str(message), **more}, "retire": bool(retire), **rest} if (
            not rest and not more and len(kind) <= _MAX_KIND and len(message) <= _MAX_MESSAGE
        ):
            return Answer({}, JobFailed(kind, message), retire)
        case {"memory": True, "retire": True, **rest} if not rest:
            return Answer({}, JobOutOfMemory("the job needs more memory than a worker may use"), retire=True)
        case _:
            raise frames.BrokenFrame("an answer of an unknown shape")
