"""Extractor of the metrics of hidden tests, which run against the agent's program."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from aex_models.catalog import Cost, Direction, MetricEntry
from aex_models.hidden_tests import HiddenTests, HiddenTestStyle
from aex_models.thresholds import MetricType
from aex_models.work import LintWarning, Problem
from aex_outcomes.extractors.protocol import AgentFault, Detailed, Metrics, PlatformFault
from aex_outcomes.json_values import MISSING, resolve_pointer
from aex_outcomes.sandbox.port import SANDBOX_UNAVAILABLE, SandboxUnavailable
from aex_outcomes.testing.checks import HiddenTestLimits, check_hidden_tests, find_path_problem
from aex_outcomes.testing.jobs import DisposableTestRunner
from aex_outcomes.testing.memory_importer import map_modules_to_paths
from aex_outcomes.testing.results import HiddenTestResult, HiddenTestRunner, Outcome
from aex_outcomes.testing.trial import try_hidden_tests

TESTS = "tests"
"""Key of the evaluation data."""
FILES_POINTER, CODE_POINTER = "/files", "/code"
MAX_FILES, MAX_PROGRAM_BYTES = 200, 1_000_000
MAX_DETAIL_BYTES = 60_000
"""Maximum bytes of the details of all metrics as JSON."""
_NAMES = ("tests_pass_rate", "tests_passed", "tests_failed", "tests_all_passed")


@dataclass(frozen=True, slots=True)
class HiddenTestsExtractor:
    """Extractor that runs `evaluation.tests` against the program in the output.

    The program is the object of files at `/files`, or else one module at `/code`; `tests.at` names another location.
    A test that is skipped has failed. The results of single tests are details of each metric.
    """

    runner: HiddenTestRunner = field(default_factory=DisposableTestRunner)
    limits: HiddenTestLimits = field(default_factory=HiddenTestLimits)
    selected_metrics: frozenset[str] | None = None
    """Metrics to return; None for all."""
    version = "1"

    def for_metrics(self, metrics: frozenset[str]) -> "HiddenTestsExtractor":
        """Return an extractor of these metrics alone."""
        return replace(self, selected_metrics=metrics)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Run the tests once and return all selected metrics; without a program return none.

        Raises `AgentFault` for a program of a wrong shape, and `PlatformFault` if no test can run.
        """
        if task_input.get(TESTS) is None:
            return {}
        tests = self._within_limits(task_input[TESTS])
        program = read_program(task_output, tests)
        if program is None:
            return {}
        try:
            results = await self.runner.run_tests(tests.model_dump(mode="json"), program)
        except SandboxUnavailable as error:
            raise PlatformFault(SANDBOX_UNAVAILABLE, str(error)) from None
        passed = sum(each.outcome is Outcome.PASSED for each in results)
        values: dict[str, float | bool] = {
            "tests_pass_rate": passed / len(results),
            "tests_passed": passed,
            "tests_failed": len(results) - passed,
            "tests_all_passed": passed == len(results),
        }
        selected = [name for name in _NAMES if self.selected_metrics is None or name in self.selected_metrics]
        details = _list_details(results, MAX_DETAIL_BYTES // max(len(selected), 1))
        return {name: Detailed(values[name], details) for name in selected}

    def supported_metrics(self) -> list[str]:
        return list(_NAMES)

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Return the entries of all metrics, which are secret and slow."""
        share = (MetricType.PERCENTAGE, MetricType.NUMERIC)
        count = (MetricType.COUNT, MetricType.NUMERIC)
        return (
            _entry("tests_pass_rate", "Share of the hidden tests that pass.", "fraction", (0, 1), share),
            _entry("tests_passed", "Number of hidden tests that pass.", "tests", (0, None), count),
            _entry("tests_failed", "Number of hidden tests that do not pass.", "tests", (0, None), count),
            _entry("tests_all_passed", "True if every hidden test passes.", "boolean", None, (MetricType.BOOLEAN,)),
        )

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Yield the problems of test files, cases, reference and limits."""
        raw = evaluation.get(TESTS)
        if not isinstance(raw, Mapping):  # absent, or a problem of shape, which is reported elsewhere
            return
        invalid = _invalid_fields(raw)
        valid = {key: value for key, value in raw.items() if key not in invalid}
        tests = HiddenTests.model_validate({"style": HiddenTestStyle.FUNCTIONS, **valid})
        unstated = HiddenTests.model_fields.keys() - valid.keys()
        limited = self._within_limits(tests.model_dump(mode="json"))
        tests = tests.model_copy(update={name: getattr(limited, name) for name in unstated})
        has_tests = not invalid & {"style", "files", "cases"}
        yield from check_hidden_tests(tests.model_dump(mode="json"), self.limits, has_tests=has_tests)

    def max_seconds(self, task_input: Mapping[str, Any], metrics: frozenset[str] | None) -> float:
        """Return the time limit of all tests in seconds; 0 without tests."""
        del metrics
        tests = task_input.get(TESTS)
        if not tests:
            return 0
        return self._within_limits(tests).total_ms / 1_000

    async def try_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem | LintWarning]:
        """Run the tests on the reference twice, and on an empty program; return problems and warnings.

        Raises `SandboxUnavailable`.
        """
        if evaluation.get(TESTS) is None:
            return ()
        tests = self._within_limits(evaluation[TESTS])
        return await try_hidden_tests(tests.model_dump(mode="json"), self.runner)

    def _within_limits(self, raw: Any) -> HiddenTests:
        """Return the tests with no limit above that of the installation; the model's defaults may be above it."""
        tests, limits = HiddenTests.model_validate(raw), self.limits
        return tests.model_copy(
            update={
                "timeout_ms": min(tests.timeout_ms, limits.timeout_ms),
                "total_ms": min(tests.total_ms, limits.total_ms),
                "memory_mb": min(tests.memory_mb, limits.memory_mb),
            }
        )


def _invalid_fields(raw: Mapping[str, Any]) -> set[str]:
    """Return the fields of `HiddenTests` that are unknown, missing or of a wrong shape."""
    try:
        HiddenTests.model_validate(raw)
    except ValidationError as error:
        return {str(each["loc"][0]) for each in error.errors(include_url=False)}
    return set()


def read_program(output: Any, tests: HiddenTests) -> dict[str, str] | None:
    """Return the source texts of the program in the output, by path; None if there is none.

    Raises `AgentFault` for a program of a wrong shape, size or with module names that are taken.
    """
    pointers = (FILES_POINTER, CODE_POINTER) if tests.at is None else (tests.at,)
    found = next((each for at in pointers if (each := resolve_pointer(output, at)) not in (MISSING, None)), None)
    if found is None:
        return None
    files = {f"{tests.module}.py": found} if isinstance(found, str) else found
    if not isinstance(files, Mapping) or not all(isinstance(each, str) for each in files.values()):
        raise AgentFault("invalid_program", "expected an object of source texts by path, or one source text")
    if (
        len(files) > MAX_FILES
        or sum(len(text.encode("utf-8", "replace")) for text in files.values()) > MAX_PROGRAM_BYTES
    ):
        message = f"the program has more than {MAX_FILES} files or {MAX_PROGRAM_BYTES} bytes"
        raise AgentFault("program_too_large", message)
    for path in files:
        if problem := find_path_problem(path):
            raise AgentFault("invalid_path", f"{path[:100]}: {problem}")
    own = {name.partition(".")[0] for name in map_modules_to_paths(files)}
    reserved = {name.partition(".")[0] for name in map_modules_to_paths(tests.files or {})} | sys.stdlib_module_names
    if taken := sorted(own & reserved):
        message = f"the module name {taken[0]} is taken by the standard library or the tests"
        raise AgentFault("module_name_taken", message)
    if tests.style == "io" and tests.module not in own:
        raise AgentFault("module_missing", f"the program has no module {tests.module}, which is run")
    return dict(files)


def _list_details(results: Sequence[HiddenTestResult], max_bytes: int) -> list[dict[str, Any]]:
    """Return the results as JSON objects; above the limit of bytes, messages and then names are cut."""
    listed = [each.as_json() for each in results]
    for cut in ({"message": 60}, {"message": 0}, {"name": 40}):
        if _size(listed) <= max_bytes:
            break
        listed = [{**each, **{key: each[key][:length] for key, length in cut.items()}} for each in listed]
    return listed


def _size(listed: Sequence[Mapping[str, Any]]) -> int:
    return sum(len(each["name"].encode()) + len(each["message"].encode("utf-8", "replace")) + 64 for each in listed)


def _entry(
    name: str, description: str, unit: str, bounds: tuple[float, float | None] | None, types: tuple[MetricType, ...]
) -> MetricEntry:
    return MetricEntry(
        name=name,
        description=description,
        unit=unit,
        range=bounds or (None, None),
        direction=Direction.LOWER if name == "tests_failed" else Direction.HIGHER,
        metric_types=types,
        needs=(TESTS,),
        secret=True,
        at=FILES_POINTER,
        cost=Cost.SLOW,
    )
