"""Python code of custom metrics that replace graders of other tools.

Each code reads the text that the agent delivered, and returns false if there is none. It never raises for a delivered
text, because an exception would leave the outcome open.
"""

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from aex_cli.importing.checks import NotTranslatable
from aex_outcomes.sandbox.subset import check_code

_READ_TEXT = """
def evaluate(input, output, metadata):
    text = output.get("text") if isinstance(output, dict) else None
    if not isinstance(text, str):
        return {without_text}
    return {result}
"""
_COUNT_WORDS = """
def count_words(text):
    for other in "\\x1c\\x1d\\x1e\\x1f\\x85":  # no white space in JavaScript
        text = text.replace(other, "x")
    return len(text.replace("\\ufeff", " ").split())
"""
_LEVENSHTEIN = """
def to_units(text):
    units = []
    for character in text:
        code = ord(character)
        if code > 0xFFFF:
            units.append(0xD800 + ((code - 0x10000) >> 10))
            units.append(0xDC00 + ((code - 0x10000) & 0x3FF))
        else:
            units.append(code)
    return units


def is_near(text, expected, limit):
    if len(text) > 2 * len(expected) + limit:
        return False
    left, right = to_units(text), to_units(expected)
    if abs(len(left) - len(right)) > limit:
        return False
    beyond = limit + 1
    row = [min(column, beyond) for column in range(len(right) + 1)]
    for index in range(1, len(left) + 1):
        first, last = max(1, index - limit), min(len(right), index + limit)
        new = [beyond] * (len(right) + 1)
        if index <= limit:
            new[0] = index
        for column in range(first, last + 1):
            changed = row[column - 1] + (left[index - 1] != right[column - 1])
            new[column] = min(changed, row[column] + 1, new[column - 1] + 1, beyond)
        row = new
    return row[len(right)] <= limit
"""


def assemble_code(functions: str, result: str, without_text: str = "False") -> str:
    """Return code of functions whose `evaluate` returns the expression `result` over the delivered `text`.

    `without_text`: the expression that it returns if the agent delivered no text.
    """
    return f"{functions.strip()}\n\n{_READ_TEXT.format(result=result, without_text=without_text)}".strip() + "\n"


def build_word_count_code(low: float | None, high: float | None, *, negated: bool) -> str:
    """Return code that checks the number of words, divided at JavaScript's white space.

    `low`, `high`: bounds, both included; None leaves an end open.
    """
    bounds = [f"{low!r} <= count" if low is not None else "", f"count <= {high!r}" if high is not None else ""]
    condition = " and ".join(filter(None, bounds))
    functions = f"{_COUNT_WORDS}\n\ndef is_met(count):\n    return {'not ' if negated else ''}({condition or 'True'})\n"
    return assemble_code(functions, "is_met(count_words(text))")


def build_levenshtein_code(expected: str, limit: int) -> str:
    """Return code that checks that the edit distance in UTF-16 code units is at most `limit`."""
    return assemble_code(_LEVENSHTEIN, f"is_near(text, {expected!r}, {limit})")


def build_grade_code(source: str, item: Mapping[str, Any], threshold: float) -> str:
    """Return code that calls the function `grade(sample, item)` of an OpenAI grader.

    `item`: the row's item, which the code contains. `threshold`: the grader's `pass_threshold`. Raises
    `NotTranslatable` for code that the sandbox does not support, and for code that reads more of the sample than its
    text.
    """
    tree = _parse(source)
    graders = _find_grade_functions(tree)
    if not graders:
        raise NotTranslatable("code", "the code has no plain function grade(sample, item)")
    if any(isinstance(each, ast.Name) and each.id == "evaluate" for each in ast.walk(tree)) or any(
        isinstance(each, ast.FunctionDef) and each.name == "evaluate" for each in ast.walk(tree)
    ):
        raise NotTranslatable("code", "the code has a name evaluate, which the sandbox calls: choose another name")
    _require_keys(graders[0], graders[0].args.args[0].arg, {"output_text"}, "sample")
    without_text = "0.0" if threshold > 0 else repr(threshold - 1)
    call = f'float(grade({{"output_text": text}}, {dict(item)!r}))'
    return _require_supported(f"{source.rstrip()}\n\n{_READ_TEXT.format(result=call, without_text=without_text)}")


def find_item_keys(source: str) -> frozenset[str] | None:
    """Return the keys of the item that a function `grade(sample, item)` reads; None if it may read all."""
    try:
        graders = _find_grade_functions(_parse(source))
    except NotTranslatable:
        return None
    if not graders:
        return None
    keys, is_complete = _find_keys(graders[0], graders[0].args.args[1].arg)
    return keys if is_complete else None


def _find_grade_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "grade"]
    return [each for each in functions if len(each.args.args) == len(("sample", "item"))]


def build_assertion_code(value: str, variables: Mapping[str, Any], threshold: float | None, *, negated: bool) -> str:
    """Return code that runs a Python assertion of promptfoo and returns whether it passes.

    `value`: an expression, or lines that return. An exception for the agent's data fails the assertion, as in
    promptfoo. Raises `NotTranslatable` for code that the sandbox does not support, and for code that reads more of the
    context than its variables.
    """
    lines = value.split("\n")
    indent = next((each[: len(each) - len(each.lstrip())] for each in lines if each[:1] in {" ", "\t"}), "    ")
    body = "\n".join(f"{indent}{each}" for each in lines) if len(lines) > 1 else f"    return {value}"
    main = f"import json\n\n\ndef main(output, context):\n{body}\n"
    function = _parse(main).body[-1]
    if isinstance(function, ast.FunctionDef):
        _require_keys(function, "context", {"vars"}, "context")
    verdict = _DECIDE.format(
        variables=dict(variables),
        limit="result > 0" if threshold is None else f"result >= {threshold!r}",
        scored="" if threshold is None else f' and result["score"] >= {threshold!r}',
        negated=negated,
    )
    return _require_supported(assemble_code(f"{main}\n\n{verdict.strip()}", "decide(text)"))


_DECIDE = """
def decide(text):
    try:
        result = main(text, {{"vars": {variables!r}}})
        if isinstance(result, dict):
            result = bool(result["pass"]){scored}
    except (ValueError, LookupError, ArithmeticError, AssertionError):
        return False
    if isinstance(result, bool):
        return result != {negated}
    if not isinstance(result, (int, float)):
        raise TypeError("the assertion returned no boolean, number or dict")
    return result == result and ({limit}) != {negated}
"""


def _parse(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise NotTranslatable("code", f"the code is no Python: line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise NotTranslatable("code", "the code cannot be parsed: it is nested too deeply or has null bytes") from None


def _require_supported(code: str) -> str:
    problems = check_code(code)
    if problems:
        raise NotTranslatable("code", f"the sandbox does not support the code: {problems[0].message}")
    return code


def _require_keys(function: ast.FunctionDef, name: str, keys: set[str], what: str) -> None:
    """Raise `NotTranslatable` unless the function uses `name` only with these constant keys."""
    read, is_complete = _find_keys(function, name)
    if not is_complete or read - keys:
        raise NotTranslatable("code", f"the code reads more of {what} than {', '.join(sorted(keys))}")


def _find_keys(function: ast.FunctionDef, name: str) -> tuple[frozenset[str], bool]:
    """Return the constant keys with which a function reads `name`, and whether it uses it in no other way."""
    read = list(_constant_reads(function, name))
    used = sum(isinstance(each, ast.Name) and each.id == name for each in ast.walk(function))
    return frozenset(read), used == len(read)


def _constant_reads(function: ast.FunctionDef, name: str) -> Iterator[str]:
    """Yield KEY for each `name["KEY"]` and `name.get("KEY")` within the function."""
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=ast.Name(id=found), slice=ast.Constant(value=str() as key)) if found == name:
                yield key
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=found), attr="get"), args=[ast.Constant(value=str() as key), *_]
            ) if found == name:
                yield key
