"""What a worker answers, read as what it may be: hostile."""

from dataclasses import dataclass
from typing import Any

from aex_outcomes.confinement import frames
from aex_outcomes.confinement.errors import ConfinementError, JobFailed, JobOutOfMemory

_MAX_KIND, _MAX_MESSAGE = 100, 2_000
_RESULT, _ERROR, _FAILURE = {"result", "retire"}, {"error", "retire"}, {"kind", "message"}
_OUT_OF_MEMORY = {"memory": True, "retire": True}


@dataclass(frozen=True, slots=True)
class Answer:
    """A job's end: its result or its error, and whether the worker asks to be replaced."""

    result: dict[str, Any]
    error: ConfinementError | None
    retire: bool


def read_answer(body: bytes) -> Answer:
    """Raises `BrokenFrame` for anything that no honest worker writes."""
    answer = frames.decode(body)
    if isinstance(answer, dict):
        retire = answer.get("retire")
        if answer.keys() == _RESULT and isinstance(answer["result"], dict) and isinstance(retire, bool):
            return Answer(answer["result"], None, retire)
        if answer.keys() == _ERROR and isinstance(retire, bool):
            return Answer({}, _failure(answer["error"]), retire)
        if answer == _OUT_OF_MEMORY:
            return Answer({}, JobOutOfMemory("the job needs more memory than a worker may use"), retire=True)
    raise frames.BrokenFrame("an answer of an unknown shape")


def _failure(error: Any) -> JobFailed:
    if isinstance(error, dict) and error.keys() == _FAILURE:
        kind, message = error["kind"], error["message"]
        if isinstance(kind, str) and isinstance(message, str) and _short(kind, message):
            return JobFailed(kind, message)
    raise frames.BrokenFrame("an error of an unknown shape")


def _short(kind: str, message: str) -> bool:
    return len(kind) <= _MAX_KIND and len(message) <= _MAX_MESSAGE
