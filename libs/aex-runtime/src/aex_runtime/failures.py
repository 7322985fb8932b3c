"""What may be said of an exception in logs and dead letters."""

from pathlib import PurePath
from traceback import extract_tb

from aex_runtime.errors import DomainError


def describe_failure(error: BaseException) -> str:
    """The kind of an exception and the line that raised it, or a domain error's code.

    Its message is left out: what libraries put there (a validator's input, a parser's line) may be evaluation data.
    """
    kind = type(error).__name__
    if isinstance(error, DomainError):
        return f"{kind} {error.code}"
    frames = extract_tb(error.__traceback__)
    if not frames:
        return kind
    last = frames[-1]
    return f"{kind} at {PurePath(last.filename).name}:{last.lineno} in {last.name}"
