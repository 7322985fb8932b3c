"""How a run of custom code ended, told from what the interpreter's client raised."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from aex_outcomes.sandbox.port import CodeFault, FaultKind

if TYPE_CHECKING:
    from pydantic_monty import Frame, MontyRuntimeError

_INPUT = "<python-input"
"""How the interpreter names what it was fed; what `eval` runs has another name."""
_MESSAGE_CHARACTERS = 500
_PARSER = "The monty syntax parser does not yet support "
_OUT_OF_TIME = "feed time limit exceeded"
_OUT_OF_MEMORY = ("memory limit exceeded", "the worker exceeded its memory limit")
_TOO_LARGE = "what the code returned or raised is too large to be taken"


class Crashed(Exception):
    """The interpreter died of itself."""


class Output:
    """Counts what code prints, and keeps none of it."""

    def __init__(self, limit: int, stop: Callable[[], None]) -> None:
        """`stop` ends the interpreter, which otherwise runs on to the end of its time, whatever is raised here."""
        self._room = limit
        self._stop = stop

    @property
    def over(self) -> bool:
        """Whether more was printed than is taken."""
        return self._room < 0

    def __call__(self, stream: str, text: str) -> None:
        """Takes what was printed. Once it is too much, stops the interpreter and raises `OverflowError`."""
        del stream
        self._room -= len(text.encode("utf-8", "replace"))
        if self.over:
            self._stop()
            raise OverflowError


def fault_of(error: BaseException, code: str) -> Exception | None:
    """The `CodeFault` that an exception of the client's stands for, or `Crashed`; None for what is neither.

    None of them is ever the candidate's doing: what is too deep for the interpreter never gets here (`Context`).
    """
    from pydantic_monty import MontyCrashedError, MontyRuntimeError, MontySyntaxError  # noqa: PLC0415 heavy

    if isinstance(error, MontySyntaxError):
        return CodeFault(FaultKind.SYNTAX, _cut(str(error)), _line(error.traceback(), code))
    if isinstance(error, MontyRuntimeError):
        return _raised(error, code)
    if isinstance(error, MontyCrashedError):
        return CodeFault(FaultKind.TIMEOUT, "killed past its time") if error.timed_out else Crashed(_cut(str(error)))
    if _undelivered(error):
        return CodeFault(FaultKind.MEMORY, _TOO_LARGE)
    return None


def _raised(error: "MontyRuntimeError", code: str) -> CodeFault:
    """What the code raised, or the interpreter in its name. Text tells the two apart; to fake it gains nothing."""
    frames = error.traceback()
    inner, line = error.exception(), _line(frames, code)
    said = _cut(str(inner))
    if isinstance(inner, TimeoutError) and said.startswith(_OUT_OF_TIME):
        return CodeFault(FaultKind.TIMEOUT, said, line)
    if isinstance(inner, MemoryError) and said.startswith(_OUT_OF_MEMORY):
        return CodeFault(FaultKind.MEMORY, said, line)
    if frames and all(frame.function_name is None for frame in frames):  # raised by no code: as it was compiled
        return CodeFault(FaultKind.SYNTAX, f"not in the sandbox's Python: {said.removeprefix(_PARSER)}", line)
    if isinstance(inner, UnicodeEncodeError) and not frames:
        return CodeFault(FaultKind.SYNTAX, "the code holds lone surrogates")
    return CodeFault(FaultKind.EXCEPTION, _cut(str(error)), line)


def _undelivered(error: BaseException) -> bool:
    """Whether memory ran out on this side, while what the code sent was read."""
    lost = isinstance(error, RuntimeError) and str(error).startswith("monty worker protocol error")
    return lost or isinstance(error, MemoryError) or type(error).__name__ == "PanicException"


def _line(frames: "Sequence[Frame]", code: str) -> int | None:
    """The innermost line of the code's own; what the sandbox put after its end is none of it."""
    lines = code.count("\n") + 1
    own = [frame.line for frame in frames if frame.filename.startswith(_INPUT) and frame.line <= lines]
    return own[-1] if own else None


def _cut(text: str) -> str:
    return text[:_MESSAGE_CHARACTERS]
