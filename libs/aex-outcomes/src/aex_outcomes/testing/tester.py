"""Tester process: runs one hidden test against the program, and reports the outcome.

It alone reports to the worker. An outcome is `passed` only if the test ran to its end without an error, and the
candidate process answered to the end.
"""

import os
import sys
import traceback
import types
import unittest
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aex_outcomes.testing.allowed_modules import use_memory_importers
from aex_outcomes.testing.connection import ConnectionLost, MessageConnection
from aex_outcomes.testing.memory_importer import SourceFinder, map_modules_to_paths
from aex_outcomes.testing.program_client import ProgramClient
from aex_outcomes.testing.program_modules import ProgramFinder
from aex_outcomes.testing.results import MAX_MESSAGE, Outcome

_MAX_DATA_BYTES = 8_000_000


@dataclass(frozen=True, slots=True)
class HiddenTestReport:
    """Outcome of one test and the reason of a failure."""

    outcome: Outcome
    message: str = ""


def run_tester(descriptor: int, worker_descriptor: int) -> None:
    """Run the tester process: read the test from the worker, run it, and send its report.

    `descriptor`: connection to the candidate. `worker_descriptor`: connection to the worker.
    """
    worker = MessageConnection(worker_descriptor, _MAX_DATA_BYTES)
    task = worker.receive()
    client = ProgramClient(MessageConnection(descriptor))
    helper = types.ModuleType("aex_tests")
    helper.__dict__["ask"] = lambda value, method, *arguments: client.apply("ask", value, method, *arguments)
    sys.modules["aex_tests"] = helper
    use_memory_importers(SourceFinder(task["files"]), ProgramFinder(client, task["program_modules"]))
    sys.modules["aex_tests"] = helper
    report = run_one_test(task, client)
    worker.send({"outcome": report.outcome, "message": report.message[:MAX_MESSAGE]})
    os._exit(0)


def run_one_test(task: Mapping[str, Any], client: ProgramClient) -> HiddenTestReport:
    """Run a test by its style, and correct the outcome if the candidate process was lost.

    `task`: `style`, `files`, `path` of the test's file, and its `name` within the file, empty for the whole file.
    """
    try:
        report = _RUNNERS[task["style"]](task)
    except BaseException as error:  # noqa: BLE001 the test's own exceptions are its outcome
        report = _report_error(error)
    if client.is_lost:
        return HiddenTestReport(Outcome.CRASHED, "the program ended, or sent an invalid message")
    if client.is_out_of_memory and report.outcome is not Outcome.PASSED:
        return HiddenTestReport(Outcome.MEMORY, report.message)
    return report


def _run_unittest(task: Mapping[str, Any]) -> HiddenTestReport:
    module = _module_name(task)
    suite = unittest.defaultTestLoader.loadTestsFromName(f"{module}.{task['name']}")
    result = unittest.TestResult()
    suite.run(result)
    for listed, outcome in ((result.errors, Outcome.ERROR), (result.failures, Outcome.FAILED)):
        if listed:
            return HiddenTestReport(outcome, _last_line(listed[0][1]))
    if result.skipped:
        return HiddenTestReport(Outcome.FAILED, f"skipped: {result.skipped[0][1]}")
    if result.unexpectedSuccesses:
        return HiddenTestReport(Outcome.FAILED, "passed, although a failure is expected")
    return (
        HiddenTestReport(Outcome.PASSED)
        if result.testsRun == 1
        else HiddenTestReport(Outcome.ERROR, "the test did not run")
    )


def _run_function(task: Mapping[str, Any]) -> HiddenTestReport:
    name = _module_name(task)
    __import__(name)
    if task["name"]:
        getattr(sys.modules[name], task["name"])()
    return HiddenTestReport(Outcome.PASSED)


def _module_name(task: Mapping[str, Any]) -> str:
    [name] = map_modules_to_paths([task["path"]])
    return name


def _report_error(error: BaseException) -> HiddenTestReport:
    message = "".join(traceback.format_exception_only(error)).strip()
    if isinstance(error, AssertionError):
        return HiddenTestReport(Outcome.FAILED, message)
    if isinstance(error, unittest.SkipTest):
        return HiddenTestReport(Outcome.FAILED, f"skipped: {error}")
    if isinstance(error, ConnectionLost):
        return HiddenTestReport(Outcome.CRASHED, str(error))
    return HiddenTestReport(Outcome.MEMORY if isinstance(error, MemoryError) else Outcome.ERROR, message)


def _last_line(text: str) -> str:
    """Return the exception at the end of a traceback's text."""
    lines = text.strip().splitlines()
    starts = [index for index, line in enumerate(lines) if line and not line.startswith((" ", "Traceback"))]
    return "\n".join(lines[starts[0] if starts else -1 :])


_RUNNERS: Mapping[str, Callable[[Mapping[str, Any]], HiddenTestReport]] = {
    "unittest": _run_unittest,
    "functions": _run_function,
}
