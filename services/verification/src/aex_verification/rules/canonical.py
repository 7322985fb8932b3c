"""What cannot be hashed is refused before it is judged."""

from aex_models.canonical import NotCanonical
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest


def not_canonical(error: NotCanonical) -> InvalidRequest:
    """The refusal of a candidate with a value that I-JSON cannot hold, naming its path."""
    return InvalidRequest(
        "not_canonical",
        "The candidate holds a value that JSON cannot carry safely",
        [Problem(path=error.path, code="not_canonical", message=error.problem)],
    )
