from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_monty import Monty

from aex_outcomes.sandbox.faults import PrintedOutput, classify_client_error
from aex_outcomes.sandbox.interpreter import find_script_folders
from aex_outcomes.sandbox.port import CodeFault, FaultKind

if TYPE_CHECKING:
    from pydantic_monty import ResourceLimits


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Monty]:
    [program] = {folder / "monty" for folder in find_script_folders() if (folder / "monty").is_file()}
    with Monty(binary_path=program, min_processes=1, max_processes=1) as pool:
        yield pool


def fault(interpreter: Monty, code: str) -> Any:
    limits: ResourceLimits = {"max_feed_duration_secs": 1.0, "max_memory": 8 << 20, "max_recursion_depth": 100}
    with pytest.raises(Exception) as raised, interpreter.checkout(limits=limits) as session:  # noqa: PT011 any of them
        session.feed_run(code)
    return classify_client_error(raised.value, code)


@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        ("x = 1\nif x", FaultKind.SYNTAX, 2),
        ("x = 1\nclass A(metaclass=int): pass", FaultKind.SYNTAX, 2),
        ("x = 1\nx / 0", FaultKind.EXCEPTION, 2),
        ("def f():\n    return {}['gone']\n\nf()", FaultKind.EXCEPTION, 2),
        ("while True: pass", FaultKind.TIMEOUT, None),
        ("x = 'a'\nx * 10 ** 9", FaultKind.MEMORY, 2),
        ("'\ud800'", FaultKind.SYNTAX, None),
    ],
    ids=["no syntax", "not this Python", "an exception", "within a function", "no end", "too much memory", "no text"],
)
def test_what_code_does_is_its_fault_with_the_line(
    interpreter: Monty, code: str, kind: FaultKind, line: int | None
) -> None:
    found = fault(interpreter, code)
    assert isinstance(found, CodeFault)
    assert (found.kind, found.line) == (kind, line), found.message


@pytest.mark.parametrize("error", ["TimeoutError('feed time')", "MemoryError('mine')"])
def test_code_that_raises_what_the_interpreter_raises_has_raised_an_exception(interpreter: Monty, error: str) -> None:
    found = fault(interpreter, f"def f():\n    raise {error}\nf()")
    assert isinstance(found, CodeFault)
    assert found.kind is FaultKind.EXCEPTION


@pytest.mark.parametrize("error", [RuntimeError("monty worker protocol error: cut short"), MemoryError()])
def test_what_is_too_large_to_be_taken_is_the_codes_fault(error: Exception) -> None:
    found = classify_client_error(error, "")
    assert isinstance(found, CodeFault)
    assert found.kind is FaultKind.MEMORY


@pytest.mark.parametrize("error", [RuntimeError("something else"), OSError(5, "no pipe")])
def test_what_is_neither_the_codes_nor_the_interpreters_is_no_fault_of_either(error: Exception) -> None:
    assert classify_client_error(error, "") is None


def test_what_is_printed_is_counted_in_bytes_and_too_much_of_it_stops_the_interpreter() -> None:
    stopped: list[bool] = []
    output = PrintedOutput(4, lambda: stopped.append(True))
    output("stdout", "ab")
    output("stderr", "é")
    assert (output.is_exceeded, stopped) == (False, [])
    with pytest.raises(OverflowError):
        output("stdout", "c")
    assert (output.is_exceeded, stopped) == (True, [True])
