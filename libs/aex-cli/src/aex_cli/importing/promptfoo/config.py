"""Reading of promptfoo configurations: prompts, and test cases with what they inherit."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from aex_cli.importing.checks import NotTranslatable
from aex_cli.importing.listing import UntranslatedList
from aex_cli.importing.promptfoo.values import FILE
from aex_cli.offline.documents import BadFile, InputDocument
from aex_outcomes.json_values import MISSING, resolve_pointer
from aex_runtime.commandline import UserError

_FILE_NAME = re.compile(r"\S+\.(?:txt|json|jsonl|ya?ml|md|j2|csv|xlsx|[cm]?js|ts|py|rb|sh)(?::\w+)?")
_MAX_CASES = 100_000
ASSERT_SET = "assert-set"
"""Type of an assertion that groups others."""
_CHANGES_OUTPUT = ("transform", "postprocess", "transformVars")
"""Options by which promptfoo changes the output or the variables with code before it asserts."""


@dataclass(frozen=True, slots=True)
class TestCase:
    """A test with everything that it inherits: one row of the eval."""

    path: str
    """JSON pointer to the test."""
    variables: Mapping[str, Any]
    assertions: tuple[tuple[str, Any], ...]
    """Assertions with their JSON pointers, those of `defaultTest` first."""
    threshold: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptfooConfig:
    """A promptfoo configuration."""

    name: str
    prompts: tuple[tuple[str, str], ...]
    """Texts of the prompts with their JSON pointers."""
    cases: tuple[TestCase, ...]


def read_config(document: InputDocument, own_tests: InputDocument | None, listed: UntranslatedList) -> PromptfooConfig:
    """Read a configuration, with the tests of a second document instead of its own if there is one.

    References to files, and tests that run code before their assertions, are added to `listed`. Raises `UserError`
    for a document of another shape, with all problems.
    """
    value = document.value
    if not isinstance(value, Mapping) or not ({"tests", "scenarios", "prompts"} & set(value)):
        raise UserError(f"{document.name} is no promptfoo configuration", "give a file with prompts and tests")
    problems: list[str] = []
    default = _read_default(value, problems, listed)
    tests = value.get("tests") if own_tests is None else own_tests.value
    root = "/tests" if own_tests is None else f"{own_tests.name}#"
    cases: list[TestCase] = []
    for path, test in [*_list_tests(tests, root, problems, listed), *_list_scenarios(value, problems, listed)]:
        if not isinstance(test, Mapping):
            _add_file(path, test, listed, problems)
            continue
        try:
            cases += _build_cases(path, test, default, value, problems)
        except NotTranslatable as error:
            listed.add(path, error)
        if len(cases) > _MAX_CASES:
            raise UserError(f"{document.name} makes more than {_MAX_CASES} tests", "import it in parts")
    if problems:
        raise BadFile(f"{document.name} {each}" if each.startswith("/") else each for each in dict.fromkeys(problems))
    name = str(value.get("description") or "Imported promptfoo eval")
    return PromptfooConfig(name, tuple(_list_prompts(value.get("prompts"), listed)), tuple(cases))


def _read_default(config: Mapping[str, Any], problems: list[str], listed: UntranslatedList) -> Mapping[str, Any]:
    default = config.get("defaultTest")
    if isinstance(default, Mapping):
        return default
    if default is not None:
        _add_file("/defaultTest", default, listed, problems)
    return {}


def _add_file(path: str, value: Any, listed: UntranslatedList, problems: list[str]) -> None:
    """Add a reference to a file to the list; any other value is a problem."""
    if isinstance(value, str):
        why = "files are not followed: write the tests into the configuration, or name them with --data"
        listed.add(path, NotTranslatable("file_reference", why))
    else:
        problems.append(f"{path}: it is no object; write a test with vars and assert")


def _list_tests(tests: Any, path: str, problems: list[str], listed: UntranslatedList) -> Iterator[tuple[str, Any]]:
    if isinstance(tests, list):
        yield from ((f"{path}/{index}", each) for index, each in enumerate(tests))
    elif tests is not None:
        _add_file(path, tests, listed, problems)


def _list_scenarios(
    config: Mapping[str, Any], problems: list[str], listed: UntranslatedList
) -> Iterator[tuple[str, Any]]:
    """Yield each test of a scenario with each of its configurations."""
    scenarios = config.get("scenarios") or []
    for index, scenario in enumerate(scenarios if isinstance(scenarios, list) else [scenarios]):
        path = f"/scenarios/{index}"
        if not isinstance(scenario, Mapping):
            _add_file(path, scenario, listed, problems)
            continue
        shared = scenario.get("config")
        for test_path, test in _list_tests(scenario.get("tests") or [{}], f"{path}/tests", problems, listed):
            for each in shared if isinstance(shared, list) else [{}]:
                if isinstance(test, Mapping) and isinstance(each, Mapping):
                    variables = {**_as_mapping(each.get("vars")), **_as_mapping(test.get("vars"))}
                    yield test_path, {**each, **test, "vars": variables}
                else:
                    yield test_path, test if isinstance(each, Mapping) else each


def _as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _build_cases(
    path: str, test: Mapping[str, Any], default: Mapping[str, Any], config: Mapping[str, Any], problems: list[str]
) -> list[TestCase]:
    """Return a test's cases: one for each combination of the variables that are lists.

    Raises `NotTranslatable`.
    """
    options = {**_as_mapping(default.get("options")), **_as_mapping(test.get("options"))}
    variables = {**_as_mapping(default.get("vars")), **_as_mapping(test.get("vars"))}
    _require_plain(test, default, options)
    _require_plain_variables(variables)
    inherited = [] if options.get("disableDefaultAsserts") else _list_assertions("/defaultTest", default, problems)
    assertions = [*inherited, *_list_assertions(path, test, problems)]
    threshold = test.get("threshold", default.get("threshold"))
    followed = tuple((where, _follow(assertion, config)) for where, assertion in assertions)
    return [
        TestCase(path, each, followed, threshold, options)
        for each in _combine(variables, expand=not options.get("disableVarExpansion"))
    ]


def _require_plain(test: Mapping[str, Any], default: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Raise `NotTranslatable` if code runs before the assertions, or if variables are in a file."""
    for name in _CHANGES_OUTPUT:
        if options.get(name):
            raise NotTranslatable("code", f"options.{name} changes what the assertions read; nothing is run here")
    if test.get("assertScoringFunction") or default.get("assertScoringFunction"):
        raise NotTranslatable("code", "assertScoringFunction decides by code; nothing is run here")
    for each in (test, default):
        if isinstance(each.get("vars"), str):
            raise NotTranslatable("file_reference", "files are not followed: write the vars into the test")


def _require_plain_variables(variables: Mapping[str, Any]) -> None:
    for value in variables.values():
        if value == []:
            raise NotTranslatable("value", "a variable is an empty list, for which promptfoo runs no test")
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str) and each.startswith(FILE):
                raise NotTranslatable("file_reference", "files are not followed: write the content into the variable")


def _list_assertions(path: str, test: Mapping[str, Any], problems: list[str]) -> list[tuple[str, Any]]:
    listed = test.get("assert")
    if listed is None:
        return []
    if not isinstance(listed, list):
        problems.append(f"{path}/assert: it is no list; write a list of assertions")
        return []
    found = [(f"{path}/assert/{index}", each) for index, each in enumerate(listed)]
    problems += [problem for where, each in found for problem in _find_shape_problems(where, each)]
    return found


def _find_shape_problems(path: str, assertion: Any) -> Iterator[str]:
    if isinstance(assertion, str) and assertion.startswith(FILE):
        return
    if isinstance(assertion, Mapping) and isinstance(assertion.get("$ref"), str):
        return
    if not isinstance(assertion, Mapping) or not isinstance(assertion.get("type"), str):
        yield f"{path}: an assertion is an object with a type; give it one, such as contains"
    elif assertion["type"] == ASSERT_SET:
        inner = assertion.get("assert")
        if not isinstance(inner, list):
            yield f"{path}/assert: an assert-set needs a list of assertions; add it"
            return
        for index, each in enumerate(inner):
            yield from _find_shape_problems(f"{path}/assert/{index}", each)


def _follow(assertion: Any, config: Mapping[str, Any]) -> Any:
    """Return the assertion that `{$ref: "#/…"}` names, or the assertion itself.

    If the named one is missing or unusable, the reference itself is returned, as a text.
    """
    reference = assertion.get("$ref") if isinstance(assertion, Mapping) else None
    if not isinstance(reference, str):
        return assertion
    found = resolve_pointer(config, reference[1:]) if reference.startswith("#/") else MISSING
    is_usable = isinstance(found, Mapping) and not list(_find_shape_problems("", found)) and "$ref" not in found
    return found if is_usable else reference


def _combine(variables: Mapping[str, Any], *, expand: bool) -> list[Mapping[str, Any]]:
    """Return the variables with each combination of those that are lists.

    Raises `NotTranslatable` for too many.
    """
    lists = {name: value for name, value in variables.items() if isinstance(value, list)} if expand else {}
    if math.prod(map(len, lists.values())) > _MAX_CASES:
        raise NotTranslatable("value", f"lists of variables make more than {_MAX_CASES} tests: write fewer")
    return [{**variables, **dict(zip(lists, chosen, strict=True))} for chosen in product(*lists.values())]


def _list_prompts(prompts: Any, listed: UntranslatedList) -> Iterator[tuple[str, str]]:
    for index, each in enumerate(prompts if isinstance(prompts, list) else [prompts] if prompts else []):
        path = f"/prompts/{index}"
        text = each.get("raw", each.get("id")) if isinstance(each, Mapping) else each
        if isinstance(text, str) and not text.startswith(FILE) and not _FILE_NAME.fullmatch(text.strip()):
            yield path, text
        else:
            why = "files are not followed: write the prompt into the configuration"
            listed.add(path, NotTranslatable("file_reference", why))
