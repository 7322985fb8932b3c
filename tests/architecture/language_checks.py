"""Checks L01 to L08 of the language guard over parsed files."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, NamedTuple

EVENTS = "tests/architecture/log_events.txt"
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.)\s)")
_NOT_A_REASON = re.compile(r"noqa(?::\s*(?:[A-Z]+\d+[,\s]*)+)?|type:\s*ignore(?:\[[\w, -]*\])?|[^\w\s]")
_LOG_CALL = re.compile(r"\.(?:debug|info|warning|error|exception|critical)\(")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Finding(NamedTuple):
    path: str
    line: int
    code: str
    subject: str
    text: str
    use: str


@dataclass(frozen=True)
class SourceFile:
    path: str
    text: str
    tree: ast.Module
    nodes: Sequence[tuple[ast.stmt, str]]
    """Every statement, with the scope of the names it assigns: `attribute` or `local`."""

    @property
    def is_source(self) -> bool:
        return self.path.endswith(".py") and self.path.startswith(("libs/", "services/"))


def parse(path: str, text: str) -> SourceFile:
    """Return the parsed file; one that is not Python has no statements. Raises SyntaxError."""
    tree = ast.parse(text if path.endswith(".py") else "")
    return SourceFile(path, text, tree, list(_statements(tree.body, "attribute")))


def _statements(body: Iterable[ast.AST], scope: str) -> Iterator[tuple[ast.stmt, str]]:
    for node in body:
        inner = "local" if isinstance(node, _FUNCTIONS) else "attribute" if isinstance(node, ast.ClassDef) else scope
        if isinstance(node, ast.stmt):
            yield node, scope
        if isinstance(node, ast.Match) or hasattr(node, "body"):
            for field in ("body", "orelse", "handlers", "finalbody", "cases"):
                yield from _statements(getattr(node, field, ()), inner)


def check_names(file: SourceFile, data: dict[str, Any]) -> Iterator[Finding]:
    words, scopes = data["names"]["words"], data["names"]["scopes"]
    for node, scope in file.nodes:
        for kind, name, line in _defined_names(node, scope):
            roots = dict.fromkeys(_root(form.lower(), words) for form in _WORDS.findall(name))
            uses = [words[root] for root in roots if root]
            if uses and kind in scopes:
                yield Finding(file.path, line, "L01", name, f"{kind} name `{name}`", "; ".join(uses))


def _root(form: str, words: dict[str, str]) -> str:
    return next((root for root in (form, form.removesuffix("s")) if root in words), "")


def _defined_names(node: ast.stmt, scope: str) -> Iterator[tuple[str, str, int]]:
    targets: Sequence[ast.expr] = ()
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        yield "definition", node.name, node.lineno
    if isinstance(node, _FUNCTIONS):
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            yield "parameter", argument.arg, argument.lineno
    elif isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.For, ast.AsyncFor)):
        targets = [node.target]
    for target in targets:
        for item in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            if isinstance(item, ast.Name):
                yield scope, item.id, item.lineno
            elif isinstance(item, ast.Attribute):
                yield "attribute", item.attr, item.lineno


def check_docstrings(file: SourceFile, data: dict[str, Any]) -> Iterator[Finding]:
    """Check the docstrings of modules, classes, functions and attributes; the latter have no summary line."""
    owners = [node for node, _ in file.nodes if isinstance(node, (ast.ClassDef, *_FUNCTIONS))]
    functions = {node.body[0] for node in owners if isinstance(node, _FUNCTIONS)}
    summarised = {file.tree.body[0], *(node.body[0] for node in owners)} if file.tree.body else set()
    for node in (node for node, _ in file.nodes):
        text = _constant(node.value) if isinstance(node, ast.Expr) else None
        if text is None:
            continue
        first = re.match(r"\s*([\w']*)", text)
        if first and first[1] in data["docstrings"]["first_words"]:
            use = "an imperative verb" if node in functions else "a noun phrase"
            yield Finding(file.path, node.lineno, "L02", first[1], f"docstring begins with `{first[1]}`", use)
        length, limit = len(" ".join(text.strip().split("\n\n")[0].split())), data["sizes"]["summary_characters"]
        if node in summarised and length > limit:
            yield Finding(
                file.path, node.lineno, "L03", "summary", f"summary of {length} characters", f"at most {limit}"
            )
        yield from _check_sentences(file.path, node.lineno, text, data["sizes"])


def _check_sentences(path: str, start: int, text: str, sizes: dict[str, int]) -> Iterator[Finding]:
    limit = sizes["sentence_words"]
    for begin, end in pairwise([0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]):
        count = sum(any(map(str.isalnum, word)) for word in text[begin:end].split())
        if count > limit:
            line = start + text[:begin].count("\n")
            yield Finding(path, line, "L03", "sentence", f"sentence of {count} words", f"at most {limit} words")


def phrase_pattern(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds the phrases also where a line break or comment sign divides them."""
    joined = (r"\s+(?:#\s+)?".join(map(re.escape, phrase.split())) for phrase in phrases)
    return re.compile(rf"\b(?:{'|'.join(joined)})\b")


def check_phrases(file: SourceFile, phrases: dict[str, str], pattern: re.Pattern[str]) -> Iterator[Finding]:
    for match in pattern.finditer(file.text.lower()):
        phrase = " ".join(match[0].replace("#", " ").split())
        line = file.text.count("\n", 0, match.start()) + 1
        yield Finding(file.path, line, "L04", phrase, f"phrase `{phrase}`", phrases[phrase])


def check_log_events(files: Iterable[SourceFile], forwarders: Sequence[str], listing: str) -> Iterator[Finding]:
    listed = {event: number for number, event in enumerate(listing.splitlines(), 1)}
    emitted: set[str] = set()
    for file in files:
        if not (_LOG_CALL.search(file.text) or any(map(file.text.count, forwarders))):
            continue
        for call in (node for node in ast.walk(file.tree) if isinstance(node, ast.Call)):
            for event in _events(call, forwarders):
                emitted.add(event)
                if event not in listed:
                    text, use = f"log event `{event}` is not listed", f"a line in {EVENTS}"
                    if not event:
                        text, use = "log event is not a constant", "a constant, or an exception and a forwarder"
                    yield Finding(file.path, call.lineno, "L05", event or "dynamic", text, use)
    for event in listed.keys() - emitted:
        yield Finding(EVENTS, listed[event], "L05", event, f"log event `{event}` is not emitted", "delete the line")
    if list(listed) != sorted(listed):
        yield Finding(EVENTS, 1, "L05", "order", "log events are not sorted", "sorted lines")


def _events(call: ast.Call, forwarders: Sequence[str]) -> Iterator[str]:
    """Yield the events that a call logs; an empty string for one that is not a constant."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in forwarders:
        values = (*call.args, *(keyword.value for keyword in call.keywords))
        yield from filter(None, map(_constant, values))
    elif call.args and isinstance(function, ast.Attribute) and _LOG_CALL.match(f".{name}(") and _is_log(function.value):
        value = call.args[0]
        for choice in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
            yield _constant(choice) or ""


def _constant(value: ast.expr) -> str | None:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _is_log(receiver: ast.expr) -> bool:
    while isinstance(receiver, ast.Call):
        receiver = receiver.func.value if isinstance(receiver.func, ast.Attribute) else receiver.func
    name = receiver.attr if isinstance(receiver, ast.Attribute) else getattr(receiver, "id", "")
    return name.strip("_").lower().endswith(("log", "logger", "structlog"))


def check_class_names(files: Iterable[SourceFile]) -> Iterator[Finding]:
    defined: dict[str, list[tuple[str, int]]] = {}
    allowed: set[str | None] = {"Deps", "Settings"}
    for file in files:
        for node in file.tree.body:
            if isinstance(node, ast.ClassDef):
                defined.setdefault(node.name, []).append((file.path, node.lineno))
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                allowed |= {_constant(item) for item in ast.walk(node.value) if isinstance(item, ast.expr)}
    for name, homes in defined.items():
        for path, line in homes if len(homes) > 1 and name not in allowed else []:
            others = ", ".join(f"{other}:{number}" for other, number in homes if other != path)
            yield Finding(path, line, "L06", name, f"class `{name}` is also in {others}", "a name of its own")


def check_sizes(files: Iterable[SourceFile], sizes: dict[str, int]) -> Iterator[Finding]:
    folders = dict[str, int]()
    shortest, longest, least = sizes["module_lines_min"], sizes["module_lines_max"], sizes["folder_modules_min"]
    for file in files:
        path = PurePosixPath(file.path)
        is_module = path.name not in {"__init__.py", "__main__.py"}
        folders[str(path.parent)] = folders.get(str(path.parent), 0) + is_module
        count, limit = file.text.count("\n"), sizes["function_lines_max"]
        if is_module and not shortest <= count <= longest:
            yield Finding(file.path, 1, "L07", "lines", f"module of {count} lines", f"{shortest} to {longest} lines")
        for node in (node for node, _ in file.nodes if isinstance(node, _FUNCTIONS)):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            if count > limit:
                text = f"function `{node.name}` of {count} lines"
                yield Finding(file.path, node.lineno, "L07", node.name, text, f"at most {limit} lines")
    for folder, count in folders.items():
        if count < least:
            yield Finding(folder, 1, "L07", "modules", f"folder of {count} modules", f"{least} modules, or one module")


def check_inline_imports(file: SourceFile) -> Iterator[Finding]:
    lines, excused = file.text.split("\n"), 0
    for node, scope in file.nodes:
        if not isinstance(node, (ast.Import, ast.ImportFrom)) or scope != "local":
            continue
        if node.lineno == excused or any(map(_has_reason, lines[node.lineno - 2 : node.lineno])):
            excused = (node.end_lineno or node.lineno) + 1  # one reason holds for the imports that follow it
            continue
        module = (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) or "."
        text, use = f"inline import of `{module}`", "the module's top, or a comment with the reason"
        yield Finding(file.path, node.lineno, "L08", module, text, use)


def _has_reason(line: str) -> bool:
    return len(_NOT_A_REASON.sub(" ", line.partition("#")[2]).split()) >= 1
