"""Import of an OpenAI eval, or of a grader of its fine-tuning API, with the rows of its data."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from aex_cli.importing.checks import CheckGroup, Item, NotTranslatable
from aex_cli.importing.listing import ImportedEval, ImportedWork, UntranslatedList
from aex_cli.importing.openai_graders import NEEDED, translate_grader
from aex_cli.importing.rows import DataRow
from aex_cli.importing.sandbox_code import find_item_keys
from aex_cli.importing.templates import list_variables, parse_template
from aex_cli.offline.documents import BadFile, InputDocument
from aex_outcomes.catalog import Catalog
from aex_outcomes.json_values import join_pointer
from aex_runtime.commandline import ProgressCallback, UserError

_SHAPES = (("testing_criteria",), ("grader",), ("reinforcement", "grader"), ("method", "reinforcement", "grader"))
"""Locations of graders: in an eval, in a request to the grader API, and in a fine-tuning job."""


def import_openai_eval(
    document: InputDocument,
    rows: Sequence[DataRow] | None,
    visible_fields: Collection[str],
    catalog: Catalog,
    progress: ProgressCallback,
) -> ImportedEval:
    """Translate the graders of a document for each row; `rows` is None without a data file.

    `visible_fields`: fields of items that agents read; if empty, those that no grader reads. Raises `UserError` for a
    document that holds no graders, that has graders of a wrong shape, or that needs rows.
    """
    graders = dict(_find_graders(document))
    _check_shapes(document, graders)
    name = str((document.value.get("name") if isinstance(document.value, Mapping) else None) or "Imported eval")
    if rows is None and _read_fields(graders.values(), {}):
        raise UserError(f"{document.name} reads items of rows", "name their file of JSON lines with --data")
    listed = UntranslatedList()
    works = []
    if missing := [each for each in visible_fields if not any(each in _get_item(row) for row in rows or ())]:
        raise UserError(f"no row has the field {missing[0]}", "check the name given to --input")
    items = [(0, {})] if rows is None else [(row.number, _get_item(row)) for row in rows]
    for index, (number, item) in enumerate(items):
        checks = [*_translate(graders, item, catalog, listed, number)]
        title = f"{name}, row {number}" if number else name
        kept = visible_fields or item.keys() - _read_fields(graders.values(), item)
        visible = {key: value for key, value in item.items() if key in kept}
        works.append(ImportedWork(title, {"item": visible} if visible else {}, CheckGroup(tuple(checks)), "", number))
        progress("translating", index + 1, len(items))
    return ImportedEval(name, tuple(works), listed)


def _translate(
    graders: Mapping[str, Mapping[str, Any]],
    item: Mapping[str, Any],
    catalog: Catalog,
    listed: UntranslatedList,
    row: int,
) -> Iterator[Item]:
    for path, grader in graders.items():
        try:
            yield translate_grader(grader, item, catalog)
        except NotTranslatable as error:
            listed.add(path, error, row)


def _find_graders(document: InputDocument) -> Iterator[tuple[str, Any]]:
    """Yield each grader with its JSON pointer. Raises `UserError` if the document has none."""
    value = document.value
    if isinstance(value, Mapping) and "type" in value:
        yield "", value
        return
    for keys in _SHAPES:
        found = value
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(found, list) and found:
            yield from ((join_pointer(*keys, index), each) for index, each in enumerate(found))
            return
        if isinstance(found, Mapping):
            yield join_pointer(*keys), found
            return
    raise UserError(f"{document.name} has no graders", "give an eval with testing_criteria, or a grader with a type")


def _check_shapes(document: InputDocument, graders: Mapping[str, Any]) -> None:
    problems = [line for path, grader in graders.items() for line in _find_shape_problems(path, grader)]
    if problems:
        raise BadFile(f"{document.name} {problem}" for problem in problems)


def _find_shape_problems(path: str, grader: Any) -> Iterator[str]:
    if not isinstance(grader, Mapping) or not isinstance(grader.get("type"), str):
        yield f"{path or '/'}: a grader is an object with a type; give it one, such as string_check"
        return
    for field, kind in NEEDED.get(grader["type"], {}).items():
        if not isinstance(grader.get(field), kind):
            expected = "a text" if kind is str else "an object of graders by name"
            yield f"{path}/{field}: {grader['type']} needs {expected} here; add it"
    if grader["type"] == "multi" and isinstance(grader.get("graders"), Mapping):
        for name, each in grader["graders"].items():
            yield from _find_shape_problems(f"{path}{join_pointer('graders', name)}", each)


def _get_item(row: DataRow) -> Mapping[str, Any]:
    """Return a row's item: its field `item`, or the complete row as in files for fine-tuning."""
    item = row.value.get("item", row.value)
    return item if isinstance(item, Mapping) else {}


def _read_fields(graders: Iterable[Any], item: Mapping[str, Any]) -> frozenset[str]:
    """Return the fields of the item that graders read; all of them if a grader reads the item as a whole."""
    fields: set[str] = set()
    for each in graders:
        if isinstance(each, Mapping) and each.get("type") == "python" and isinstance(each.get("source"), str):
            keys = find_item_keys(each["source"])
            fields |= item.keys() if keys is None else keys
        elif isinstance(each, Mapping | list):
            fields |= _read_fields(each.values() if isinstance(each, Mapping) else each, item)
        elif isinstance(each, str):
            fields |= _read_fields_of_text(each, item)
    return frozenset(fields)


def _read_fields_of_text(text: str, item: Mapping[str, Any]) -> set[str]:
    """Return the fields in a template; of one that cannot be parsed, all whose name occurs in it."""
    try:
        found = [each.steps for each in list_variables(parse_template(text, has_statements=False))]
    except NotTranslatable:
        return {field for field in item if field in text}
    if ("item",) in found:
        return set(item)
    return {steps[1] for steps in found if steps[0] == "item" and len(steps) > 1}
