"""Why an operator decided as it did: in words that somebody can read later."""

from aex_governance.rules.unseen import is_hidden
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest

MAX_REASON = 300


def tidy_reason(reason: str) -> str:
    """The reason without space around it. Raises `InvalidRequest` where nothing is left to read, or too much."""
    tidied = reason.strip()
    if all(each.isspace() or is_hidden(each) for each in tidied):
        raise _refused("blank_reason", "say in a few words why you decide so: the reason stays on record")
    if len(tidied) > MAX_REASON:
        raise _refused("reason_too_long", f"a reason has at most {MAX_REASON} characters, this one {len(tidied)}")
    return tidied


def _refused(code: str, message: str) -> InvalidRequest:
    return InvalidRequest(code, message, [Problem(path="/reason", code=code, message=message)])
