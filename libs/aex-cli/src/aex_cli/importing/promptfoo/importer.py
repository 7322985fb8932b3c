"""Import of a promptfoo configuration: one work for each test case."""

from collections.abc import Sequence
from typing import Any

from aex_cli.importing.checks import CheckGroup, Item, NotTranslatable
from aex_cli.importing.listing import ImportedEval, ImportedWork, UntranslatedList
from aex_cli.importing.promptfoo.assertions import translate_assertion
from aex_cli.importing.promptfoo.config import ASSERT_SET, PromptfooConfig, TestCase, read_config
from aex_cli.importing.promptfoo.values import fill_plain_variables
from aex_cli.importing.templates import Template, parse_template
from aex_cli.offline.documents import InputDocument
from aex_models.numbers import is_finite_number
from aex_runtime.commandline import ProgressCallback, UserError


def import_promptfoo(document: InputDocument, tests: InputDocument | None, progress: ProgressCallback) -> ImportedEval:
    """Translate the tests of a configuration, or those of a second document.

    Raises `UserError` for documents of another shape, with all problems.
    """
    listed = UntranslatedList()
    config = read_config(document, tests, listed)
    prompts = _parse_prompts(config, listed)
    works = []
    for index, case in enumerate(config.cases):
        group = _translate_case(case, listed)
        if group is not None:
            title = f"{config.name}, test {index + 1}"  # a test's description may contain the answer
            works.append(ImportedWork(title, _build_input(prompts, case, listed), group, case.path, 0))
        progress("translating", index + 1, len(config.cases))
    if not config.cases and not listed.entries(0):
        raise UserError(f"{document.name} has no tests", "add tests, or name a file of tests with --data")
    return ImportedEval(config.name, tuple(works), listed)


def _translate_case(case: TestCase, listed: UntranslatedList) -> CheckGroup | None:
    """Return the checks of a test; None if nothing of it can be kept.

    Under a threshold every assertion counts, so that one without translation makes the whole group untranslated.
    """
    if not case.assertions:
        listed.add(case.path, NotTranslatable("no_check", "the test has no assertion, so that any output passes"))
        return None
    try:
        return _build_group(case.assertions, case.threshold, case, listed)
    except NotTranslatable as error:
        listed.add(case.path, error)
        return None


def _build_group(
    assertions: Sequence[tuple[str, Any]], threshold: Any, case: TestCase, listed: UntranslatedList, weight: float = 1.0
) -> CheckGroup:
    items: list[Item] = []
    failed = 0
    for path, assertion in assertions:
        try:
            items.append(_translate(path, assertion, case, listed))
        except NotTranslatable as error:
            failed += 1
            listed.add(path, error)
    if threshold is None:
        return CheckGroup(tuple(items), weight=weight)
    if not is_finite_number(threshold) or not 0 <= threshold <= 1:
        raise NotTranslatable("threshold", "the threshold is no number from 0 to 1")
    if failed:
        raise NotTranslatable("threshold", "the threshold counts an assertion that is not translated")
    return CheckGroup(tuple(items), threshold, weight)


def _translate(path: str, assertion: Any, case: TestCase, listed: UntranslatedList) -> Item:
    if isinstance(assertion, str):
        raise NotTranslatable("file_reference", "files are not followed: write the assertion into the configuration")
    if assertion["type"] != ASSERT_SET:
        return translate_assertion(assertion, case.variables)
    weight = assertion.get("weight", 1)
    if not is_finite_number(weight) or weight <= 0:
        raise NotTranslatable("weight", "the weight of the set is no number above 0")
    inner = [(f"{path}/assert/{index}", each) for index, each in enumerate(assertion["assert"])]
    if not inner:
        raise NotTranslatable("no_check", "the set has no assertion")
    group = _build_group(inner, assertion.get("threshold"), case, listed, weight)
    if not group.items or (case.threshold is not None and len(group.items) < len(inner)):
        raise NotTranslatable("no_check", "assertions of the set are not translated")
    return group


Prompts = Sequence[tuple[str, Template]]


def _parse_prompts(config: PromptfooConfig, listed: UntranslatedList) -> Prompts:
    parsed = []
    for path, text in config.prompts:
        try:
            parsed.append((path, parse_template(text, has_statements=True)))
        except NotTranslatable as error:
            listed.add(path, error)
    return parsed


def _build_input(prompts: Prompts, case: TestCase, listed: UntranslatedList) -> dict[str, Any]:
    """Return what the agent reads: the filled prompts; without any, the variables that no assertion reads."""
    texts = []
    for path, template in prompts:
        try:
            prefix, suffix = (str(case.options.get(each) or "") for each in ("prefix", "suffix"))
            texts.append(f"{prefix}{fill_plain_variables(template, case.variables)}{suffix}")
        except NotTranslatable as error:
            listed.add(path, error)
    if texts:
        return {"prompt": texts[0]} if len(texts) == 1 else {"prompts": texts}
    visible = {name: value for name, value in case.variables.items() if name not in _read_by_assertions(case)}
    return {"vars": visible} if visible else {}


def _read_by_assertions(case: TestCase) -> set[str]:
    """Return the variables whose name occurs in an assertion; all of them if code reads its context."""
    text = repr([assertion for _, assertion in case.assertions])
    return {name for name in case.variables if name in text or "context" in text}
