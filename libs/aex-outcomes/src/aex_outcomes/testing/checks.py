"""Check of hidden tests at submission: files, tests, imports, names and limits; nothing is run."""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aex_models.work import Problem
from aex_outcomes.confinement.seccomp import has_filters
from aex_outcomes.json_values import join_pointer
from aex_outcomes.testing.allowed_modules import is_allowed_module
from aex_outcomes.testing.discovery import find_async_tests, find_tests, list_imports
from aex_outcomes.testing.memory_importer import map_modules_to_paths

MAX_TESTS, MAX_BYTES = 500, 1_000_000
_HELPERS = frozenset({"aex_tests"})
_MAX_PROBLEMS = 50


@dataclass(frozen=True, slots=True)
class HiddenTestLimits:
    """Limits that this installation sets on hidden tests."""

    timeout_ms: int = 60_000
    """Maximum of `timeout_ms`; the maximum of `total_ms` is five times as much."""
    memory_mb: int = 1_024

    @property
    def total_ms(self) -> int:
        """Return the maximum of `total_ms`."""
        return 5 * self.timeout_ms


def check_hidden_tests(tests: Mapping[str, Any], limits: HiddenTestLimits, *, has_tests: bool = True) -> list[Problem]:
    """Return the problems of hidden tests, at most 50, with paths that begin with `/tests`.

    `tests`: the JSON of `HiddenTests`. Without `has_tests` their number is not checked. Files above the limit of their
    size are not parsed.
    """
    found, too_large = [*_platform_problems(), *_limit_problems(tests, limits)], list(_size_problems(tests))
    found += too_large or _content_problems(tests, has_tests=has_tests)
    return [Problem(path=path, code=code, message=message) for path, code, message in found[:_MAX_PROBLEMS]]


_Finding = tuple[str, str, str]


def find_path_problem(path: str) -> str | None:
    """Return why a path cannot be used as a program's file; None if it can."""
    parts = path.split("/")
    if (
        not path
        or path.startswith("/")
        or "\\" in path
        or "\0" in path
        or any(each in {"", ".", ".."} for each in parts)
    ):
        return "expected a relative path such as package/module.py"
    return None


def _platform_problems() -> Iterator[_Finding]:
    if not has_filters():
        message = "Hidden tests run on Linux on x86_64 and aarch64 alone; see the guide for a container command"
        yield "/tests", "tests_unavailable", message


def _limit_problems(tests: Mapping[str, Any], limits: HiddenTestLimits) -> Iterator[_Finding]:
    for key, limit in (
        ("timeout_ms", limits.timeout_ms),
        ("total_ms", limits.total_ms),
        ("memory_mb", limits.memory_mb),
    ):
        if tests[key] > limit:
            yield f"/tests/{key}", "limit_exceeded", f"{tests[key]} is above this installation's limit of {limit}"


def _size_problems(tests: Mapping[str, Any]) -> Iterator[_Finding]:
    for key in ("files", "reference"):
        size = sum(len(text.encode("utf-8", "replace")) for text in (tests[key] or {}).values())
        if size > MAX_BYTES:
            yield f"/tests/{key}", "tests_too_large", f"The files have {size} bytes; the limit is {MAX_BYTES}"
    texts = [each[key] for each in tests["cases"] or () for key in ("stdin", "stdout")]
    if (size := sum(len(text.encode("utf-8", "replace")) for text in texts)) > MAX_BYTES:
        yield "/tests/cases", "tests_too_large", f"The cases have {size} bytes; the limit is {MAX_BYTES}"


def _content_problems(tests: Mapping[str, Any], *, has_tests: bool) -> Iterator[_Finding]:
    trees = {key: dict[str, ast.Module]() for key in ("files", "reference")}
    for key, parsed in trees.items():
        yield from _parse_files(tests[key] or {}, key, parsed)
    yield from _name_problems(tests)
    own = _own_modules(tests)
    for key, parsed in trees.items():
        for path, tree in parsed.items():
            yield from _import_problems(tree, join_pointer("tests", key, path), own)
    if has_tests:
        yield from _count_problems(tests, trees["files"])


def _parse_files(files: Mapping[str, str], key: str, parsed: dict[str, ast.Module]) -> Iterator[_Finding]:
    """Yield the problems of paths and syntax; the trees of the Python files are added to `parsed`."""
    for path, text in files.items():
        pointer = join_pointer("tests", key, path)
        if problem := find_path_problem(path):
            yield pointer, "invalid_path", f"{path[:100]}: {problem}"
        elif path.endswith(".py"):
            try:
                parsed[path] = ast.parse(text)
            except SyntaxError as error:
                yield pointer, "syntax_error", f"Line {error.lineno or 0}: {error.msg}"
            except (ValueError, RecursionError, MemoryError):
                yield pointer, "syntax_error", "The file holds a null character, a lone surrogate, or too deep nesting"


def _name_problems(tests: Mapping[str, Any]) -> Iterator[_Finding]:
    """Yield a problem for each module whose name the standard library, the tests or the program have too."""
    by_files = {name.partition(".")[0]: path for name, path in map_modules_to_paths(tests["files"] or {}).items()}
    by_reference = {
        name.partition(".")[0]: path for name, path in map_modules_to_paths(tests["reference"] or {}).items()
    }
    program = {tests["module"], *by_reference}
    for key, names, others in (("files", by_files, program), ("reference", by_reference, set(by_files))):
        for name, path in names.items():
            if name in sys.stdlib_module_names or name in others or name in _HELPERS:
                message = f"The module name {name} is taken: tests, program and standard library may not share names"
                yield join_pointer("tests", key, path), "module_name_taken", message
    if tests["module"] in sys.stdlib_module_names or tests["module"] in _HELPERS:
        yield "/tests/module", "module_name_taken", f"The standard library has a module {tests['module']}"


def _own_modules(tests: Mapping[str, Any]) -> set[str]:
    listed = [
        *map_modules_to_paths(tests["files"] or {}),
        *map_modules_to_paths(tests["reference"] or {}),
        tests["module"],
    ]
    return {name.partition(".")[0] for name in listed} | _HELPERS


def _import_problems(tree: ast.Module, pointer: str, own: set[str]) -> Iterator[_Finding]:
    for line, name in list_imports(tree):
        top = name.partition(".")[0]
        if not name.startswith(".") and top not in own and not is_allowed_module(name):
            message = (
                f"Line {line}: {top[:100]} cannot be imported; allowed are computing modules of the standard library, "
                "the test files, `module`, and the modules of `reference`"
            )
            yield pointer, "module_not_allowed", message


def _count_problems(tests: Mapping[str, Any], trees: Mapping[str, ast.Module]) -> Iterator[_Finding]:
    is_io = tests["style"] == "io"
    for path, tree in trees.items() if not is_io else ():
        for line, name in find_async_tests(tree):
            yield join_pointer("tests", "files", path), "async_test", f"Line {line}: {name} is asynchronous"
    count, pointer = len(find_tests(tests, trees)), "/tests/cases" if is_io else "/tests/files"
    unparsed = [path for path in tests["files"] or () if path.endswith(".py") and path not in trees]
    if count == 0 and not unparsed:
        expected = "cases" if is_io else f"tests of the style {tests['style']} in files"
        yield pointer, "no_test", f"There is no test: expected {expected}"
    if count > MAX_TESTS:
        yield pointer, "too_many_tests", f"There are {count} tests; the limit is {MAX_TESTS}"
    if is_io and tests["reference"] and tests["module"] not in map_modules_to_paths(tests["reference"]):
        yield "/tests/reference", "module_missing", f"The reference has no module {tests['module']}, which is run"
