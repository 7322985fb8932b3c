"""Check of custom code for Python constructs that the sandbox (pydantic-monty 1.4.0) does not support.

A test runs every construct and module named here on the interpreter itself.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from aex_models.work import Problem
from aex_outcomes.sandbox.port import MAX_CODE_BYTES

MODULES = frozenset(
    {
        "__future__", "asyncio", "base64", "binascii", "bisect", "collections", "copy", "csv", "dataclasses",
        "datetime", "decimal", "functools", "hashlib", "itertools", "json", "math", "os", "os.path", "pathlib",
        "posixpath", "random", "re", "sys", "time", "tomllib", "typing", "unicodedata",
    }
)  # fmt: skip
"""Modules that code may import. `os` and `pathlib` handle paths without access to files."""

MAX_PROBLEMS = 20
_MAX_BRACES = 5_000
"""Maximum braces in code with f-strings: the parser's time is quadratic in the expressions of one."""

_FSTRING = re.compile(r"""\b[rR]?[fF][rR]?["']""")
_ARGUMENTS = 3

_UNSUPPORTED = {
    "Delete": "del statement (build a new list or dict, or use pop)",
    "Yield": "yield (collect the values in a list)",
    "YieldFrom": "yield from (collect the values in a list)",
    "AsyncFor": "async for",
    "AsyncWith": "async with",
    "TryStar": "except*",
    "TypeAlias": "type aliases",
    "TemplateStr": "template strings",
}
"""Descriptions of unsupported syntax by name of the node, because some nodes are newer than the oldest Python."""

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

Finding = tuple[int, str, str]
"""Line number, code and message of a problem; line 0 means the complete code."""


def check_code(code: str, pointer: str = "") -> tuple[Problem, ...]:
    """Return the problems that prevent code from running in the sandbox, sorted by line, at most 20.

    The code is parsed and not run. `pointer`: JSON pointer to the code, for the problems.
    """
    found = [
        (kind, f"Line {line}: {message}" if line else message)
        for line, kind, message in sorted(set(_findings(code)))[:MAX_PROBLEMS]
    ]
    return tuple(Problem(path=pointer, code=kind, message=message) for kind, message in found)


def _findings(code: str) -> Iterable[Finding]:
    if len(code.encode("utf-8", "replace")) > MAX_CODE_BYTES:
        return [(0, "code_too_large", f"The code has more than {MAX_CODE_BYTES} bytes")]
    if code.count("{") > _MAX_BRACES and _FSTRING.search(code):
        return [(0, "code_too_large", f"Code with f-strings may have {_MAX_BRACES} opening braces")]
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        return [(error.lineno or 0, "syntax_error", error.msg)]
    except (RecursionError, MemoryError):
        return [(0, "syntax_error", "The code is nested too deeply")]
    except ValueError:
        return [(0, "syntax_error", "The code holds a null character or a lone surrogate")]
    return [*(each for node in ast.walk(tree) for each in _node_findings(node)), *_module_findings(tree)]


def _node_findings(node: ast.AST) -> Iterator[Finding]:
    line, kind = getattr(node, "lineno", 0), type(node).__name__
    if kind in _UNSUPPORTED:
        yield _unsupported_finding(line, _UNSUPPORTED[kind])
    elif isinstance(node, ast.Import):
        for alias in node.names:
            yield from _import(line, alias.name)
    elif isinstance(node, ast.ImportFrom) and (node.level or node.module is None):
        yield line, "unsupported_import", "The sandbox has no packages: no relative imports"
    elif isinstance(node, ast.ImportFrom):
        yield from _import(line, node.module or "")
        if any(alias.name == "*" for alias in node.names):
            yield _unsupported_finding(line, "from … import * (name what you need)")
    elif isinstance(node, ast.ClassDef):
        yield from _class(node)
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.MatMult):
        yield _unsupported_finding(line, "@=")
    elif isinstance(node, _COMPREHENSIONS) and any(each.is_async for each in node.generators):
        yield _unsupported_finding(line, "async comprehensions")


def _unsupported_finding(line: int, construct: str) -> Finding:
    return line, "unsupported_construct", f"The sandbox's Python has no {construct}"


def _import(line: int, module: str) -> Iterator[Finding]:
    if module not in MODULES:
        yield line, "unsupported_import", f"The sandbox has no module {module[:100]}"


def _class(node: ast.ClassDef) -> Iterator[Finding]:
    if node.bases or node.keywords:
        yield _unsupported_finding(node.lineno, "class inheritance and metaclasses (use a dataclass, or a dict)")
    for member in node.body:
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            if member.decorator_list:
                yield _unsupported_finding(member.lineno, "decorators of methods")
        elif not _plain_member(member):
            yield _unsupported_finding(member.lineno, "class bodies with more than methods and simple variables")


def _plain_member(member: ast.stmt) -> bool:
    if isinstance(member, ast.Assign):
        return len(member.targets) == 1 and isinstance(member.targets[0], ast.Name)
    if isinstance(member, ast.AnnAssign):
        return isinstance(member.target, ast.Name)
    return isinstance(member, ast.Pass) or (isinstance(member, ast.Expr) and isinstance(member.value, ast.Constant))


def _module_findings(tree: ast.Module) -> Iterator[Finding]:
    """Yield problems of the module level: `evaluate` missing or unusable, and `return` statements."""
    returns = [statement for statement in tree.body if isinstance(statement, ast.Return)]
    yield from (_unsupported_finding(each.lineno, "return outside a function") for each in returns)
    found = [each for each in map(_evaluate_binding, tree.body) if each is not None]
    if not found:
        yield 0, "no_evaluate_function", "The code defines no function evaluate(input, output, metadata)"
    elif isinstance(found[-1], ast.FunctionDef) and not _takes_three(found[-1].args):
        message = "evaluate must take three arguments: input, output and metadata"
        yield found[-1].lineno, "no_evaluate_function", message
    elif isinstance(found[-1], ast.AsyncFunctionDef):
        yield found[-1].lineno, "no_evaluate_function", "evaluate must be a plain function: nothing awaits it"


def _evaluate_binding(statement: ast.stmt) -> ast.stmt | None:
    """Return the module-level statement if it binds the name `evaluate`, also within a block; else None."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return statement if statement.name == "evaluate" else None
    return statement if any(map(_binds_evaluate, ast.walk(statement))) else None


def _binds_evaluate(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "evaluate" and isinstance(node.ctx, ast.Store)
    if isinstance(node, ast.alias):
        return (node.asname or node.name) == "evaluate"
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "evaluate"


def _takes_three(arguments: ast.arguments) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args)
    required = positional - len(arguments.defaults)
    keywords_required = any(default is None for default in arguments.kw_defaults)
    enough = positional >= _ARGUMENTS or arguments.vararg is not None
    return required <= _ARGUMENTS and enough and not keywords_required
