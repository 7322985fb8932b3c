"""Faults of custom code, recognised by the exceptions of the interpreter's client library."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from aex_outcomes.sandbox.port import CodeFault, FaultKind

if TYPE_CHECKING:
    from pydantic_monty import Frame, MontyRuntimeError

_INPUT = "<python-input"
"""Beginning of the file name that the interpreter gives the code; code of `eval` has another."""
_MESSAGE_CHARACTERS = 500
_PARSER = "The monty syntax parser does not yet support "
_OUT_OF_TIME = "feed time limit exceeded"
_OUT_OF_MEMORY = ("memory limit exceeded", "the worker exceeded its memory limit")
_TOO_LARGE_MESSAGE = "what the code returned or raised is too large to be taken"


class Crashed(Exception):
    """Error of an interpreter that died though no limit was reached."""


class PrintedOutput:
    """Counter of the bytes that code prints, which are not kept."""

    def __init__(self, limit: int, stop: Callable[[], None]) -> None:
        """Keep the limit in bytes, and `stop`, which ends the interpreter."""
        self._bytes_left = limit
        self._stop = stop

    @property
    def is_exceeded(self) -> bool:
        """Return True if the code has printed more than the limit."""
        return self._bytes_left < 0

    def __call__(self, stream: str, text: str) -> None:
        """Count printed text; above the limit, stop the interpreter and raise `OverflowError`.

        Raising alone would not stop it: it ignores exceptions of this callback until its time is up.
        """
        del stream
        self._bytes_left -= len(text.encode("utf-8", "replace"))
        if self.is_exceeded:
            self._stop()
            raise OverflowError


def classify_client_error(error: BaseException, source_code: str) -> Exception | None:
    """Convert an exception of the interpreter's client to `CodeFault` or `Crashed`; None for any other.

    `source_code`: the code that ran, for line numbers. No such fault is the candidate's, because `Context` refuses
    input that the interpreter cannot read.
    """
    from pydantic_monty import MontyCrashedError, MontyRuntimeError, MontySyntaxError  # noqa: PLC0415 heavy

    if isinstance(error, MontySyntaxError):
        return CodeFault(FaultKind.SYNTAX, _truncate(str(error)), _line(error.traceback(), source_code))
    if isinstance(error, MontyRuntimeError):
        return _exception_fault(error, source_code)
    if isinstance(error, MontyCrashedError):
        late = CodeFault(FaultKind.TIMEOUT, "killed past its time")
        return late if error.timed_out else Crashed(_truncate(str(error)))
    # This process ran out of memory while it read the code's message.
    is_protocol_error = isinstance(error, RuntimeError) and str(error).startswith("monty worker protocol error")
    if is_protocol_error or isinstance(error, MemoryError) or type(error).__name__ == "PanicException":
        return CodeFault(FaultKind.MEMORY, _TOO_LARGE_MESSAGE)
    return None


def _exception_fault(error: "MontyRuntimeError", code: str) -> CodeFault:
    """Return the fault of an exception that the code raised or that the interpreter raised at a limit.

    Code that imitates the interpreter's messages only gives itself another fault.
    """
    frames = error.traceback()
    inner, line = error.exception(), _line(frames, code)
    text = _truncate(str(inner))
    if isinstance(inner, TimeoutError) and text.startswith(_OUT_OF_TIME):
        return CodeFault(FaultKind.TIMEOUT, text, line)
    if isinstance(inner, MemoryError) and text.startswith(_OUT_OF_MEMORY):
        return CodeFault(FaultKind.MEMORY, text, line)
    if frames and all(frame.function_name is None for frame in frames):  # raised during compilation
        return CodeFault(FaultKind.SYNTAX, f"not in the sandbox's Python: {text.removeprefix(_PARSER)}", line)
    if isinstance(inner, UnicodeEncodeError) and not frames:
        return CodeFault(FaultKind.SYNTAX, "the code holds lone surrogates")
    return CodeFault(FaultKind.EXCEPTION, _truncate(str(error)), line)


def _line(frames: "Sequence[Frame]", code: str) -> int | None:
    """Return the innermost line of the stack in `code`; None if it has none.

    Lines of the suffix that the sandbox appends do not count.
    """
    lines = code.count("\n") + 1
    own = [frame.line for frame in frames if frame.filename.startswith(_INPUT) and frame.line <= lines]
    return own[-1] if own else None


def _truncate(text: str) -> str:
    return text[:_MESSAGE_CHARACTERS]
