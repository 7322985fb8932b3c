"""Run of a program on a case's standard input, and comparison of its standard output."""

import math
import os
import selectors
import time
from collections.abc import Mapping
from contextlib import ExitStack
from itertools import starmap
from typing import IO, Any

from aex_outcomes.testing.pair_run import (
    ForkedProcess,
    RunLimits,
    make_result,
    open_socket_pair,
    send_json,
    wait_until_confined,
)
from aex_outcomes.testing.results import HiddenTest, HiddenTestResult, Outcome
from aex_outcomes.testing.zygote_process import ZygoteProcess

MAX_OUTPUT_BYTES = 4_000_000
"""Maximum bytes that a program may write."""
TOLERANCE = 1e-6
"""Largest difference of numbers, absolute or relative to the expected one."""

_CHUNK = 65_536


class OutputTooLarge(Exception):
    """Error of a program that wrote more than `MAX_OUTPUT_BYTES`."""


def run_io_case(
    zygote: ZygoteProcess, tests: Mapping[str, Any], case: HiddenTest, program: Mapping[str, str], limits: RunLimits
) -> HiddenTestResult:
    """Run the program on a case's input, and compare its output in this process.

    `tests`: the JSON of `HiddenTests`. `program`: source texts of the candidate by path. Raises
    `SandboxUnavailable`.
    """
    expected = tests["cases"][case.case]
    with ExitStack() as stack:
        program_input, to_program = _open_pipe(stack)
        from_program, program_output = _open_pipe(stack)
        to_data, data_end = open_socket_pair(stack)
        ends: list[Any] = [program_input, program_output, data_end]
        process = stack.enter_context(ForkedProcess(zygote, "program", ends, limits.memory_mb, limits.cpu_s))
        for each in ends:
            each.close()
        wait_until_confined(to_data)
        began = time.monotonic()
        deadline = began + limits.timeout_s
        send_json(to_data, {"files": dict(program), "module": tests["module"]}, deadline)
        output, exit_code = b"", None
        try:
            output = _exchange(to_program, from_program, expected["stdin"].encode("utf-8", "replace"), deadline)
            exit_code = process.reap(deadline - time.monotonic())
        except TimeoutError:
            exit_code = None  # reported below
        except OutputTooLarge:
            message = f"more than {MAX_OUTPUT_BYTES} bytes of output"
            return make_result(case, began, Outcome.FAILED, message)
    if exit_code is None or time.monotonic() >= deadline:  # it may have closed its output before
        return make_result(case, began, Outcome.TIMEOUT, f"no end within {limits.timeout_s:g} s")
    if exit_code == 0:
        is_match = matches_output(output.decode("utf-8", "replace"), expected["stdout"], expected["match"])
        return make_result(case, began, Outcome.PASSED if is_match else Outcome.FAILED, "the output differs")
    if exit_code < 0:
        return make_result(case, began, Outcome.CRASHED, f"the program ended by signal {-exit_code}")
    return make_result(case, began, Outcome.ERROR, f"the program ended with exit code {exit_code}")


def _open_pipe(stack: ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """Return reader and writer of a new pipe, unbuffered, which the stack closes."""
    reader, writer = os.pipe()
    return stack.enter_context(os.fdopen(reader, "rb", 0)), stack.enter_context(os.fdopen(writer, "wb", 0))


def _exchange(writer: IO[bytes], reader: IO[bytes], data: bytes, deadline: float) -> bytes:
    """Write the data and read until the end of the output. Raises `TimeoutError` and `OutputTooLarge`."""
    remaining, output = memoryview(data), bytearray()
    for each in (writer, reader):
        os.set_blocking(each.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        selector.register(writer, selectors.EVENT_WRITE)
        while True:
            ready = selector.select(max(deadline - time.monotonic(), 0))
            if not ready and time.monotonic() >= deadline:
                raise TimeoutError
            for key, _ in ready:
                if key.fileobj is writer:
                    remaining = remaining[_write_some(writer, remaining[:_CHUNK]) :]
                    if not remaining:
                        selector.unregister(writer)
                        writer.close()
                elif part := os.read(reader.fileno(), _CHUNK):
                    output += part
                    if len(output) > MAX_OUTPUT_BYTES:
                        raise OutputTooLarge
                else:
                    return bytes(output)


def _write_some(writer: IO[bytes], data: memoryview) -> int:
    """Write a part of the data and return its length; all of it if the program reads no more."""
    try:
        return os.write(writer.fileno(), data)
    except BrokenPipeError:
        return len(data)
    except BlockingIOError:
        return 0


def matches_output(output: str, expected: str, match: str) -> bool:
    """Return True if the output is the expected one.

    `match`: `exact` compares texts but for one final newline, and `tokens` the words between white space. With `float`,
    words that are numbers may differ by `TOLERANCE`.
    """
    if match == "exact":
        return output.removesuffix("\n") == expected.removesuffix("\n")
    words, expected_words = output.split(), expected.split()
    if match == "tokens" or len(words) != len(expected_words):
        return words == expected_words
    return all(starmap(_is_same_word, zip(words, expected_words, strict=True)))


def _is_same_word(word: str, expected: str) -> bool:
    if word == expected:
        return True
    try:
        number, target = float(word), float(expected)
    except ValueError:
        return False
    if not (math.isfinite(number) and math.isfinite(target)):
        return number == target
    return abs(number - target) <= TOLERANCE * max(1.0, abs(target))
