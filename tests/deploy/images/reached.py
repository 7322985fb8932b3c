"""What a program can come to import: its modules' imports, wherever they stand, and modules that they name in texts.

`if TYPE_CHECKING:` is passed over. A text that is the name of one of our own modules (that of an application, or of a
job of confined workers) counts as an import of it, and so does `import_module(f"aex_sample.plugins.{name}")` of all
that stands in that folder.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_OWN = re.compile(r"aex_[a-z_]+(\.[a-z_0-9]+)+(:\w+)?")


@dataclass(slots=True)
class Reached:
    """Our own modules, and the names of others' that they import, each with one module that does."""

    own: set[str] = field(default_factory=set)
    others: dict[str, str] = field(default_factory=dict)


def reached_from(packages: Path, entries: Sequence[str]) -> Reached:
    """All that can be reached from these modules, of those in `packages`. Raises `LookupError` where one is missing."""
    found, waiting = Reached(), list(entries)
    while waiting:
        name = waiting.pop()
        if name in found.own:
            continue
        file = _file_of(packages, name)
        if file is None:
            raise LookupError(f"there is no module {name}")
        found.own.add(name)
        parent = name.rpartition(".")[0]
        waiting += [parent] if parent else []
        for each in _named_in(ast.parse(file.read_bytes())):
            if not each.startswith("aex_"):
                found.others.setdefault(each, name)
            elif each.endswith(".*"):
                waiting += _members(packages, each.removesuffix(".*"))
            elif _file_of(packages, each) is not None:
                waiting.append(each)
    found.others = {
        each: by for each, by in found.others.items() if each.partition(".")[0] not in sys.stdlib_module_names
    }
    return found


def _named_in(tree: ast.AST) -> Iterator[str]:
    """Dotted names; one that ends in `.*` is all of a folder. Some name no module, but something in one."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=otherwise):
                yield from _named_in(ast.Module(otherwise, []))
                continue
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield module
                yield from (f"{module}.{each.name}" for each in names)
            case ast.Constant(value=str(text)) if _OWN.fullmatch(text):
                yield text.partition(":")[0]
            case ast.Call(
                func=ast.Name(id="import_module"), args=[ast.JoinedStr(values=[ast.Constant(value=str(text)), *_])]
            ):
                yield f"{text}*"
        yield from _named_in(node)


def _file_of(packages: Path, module: str) -> Path | None:
    path = packages.joinpath(*module.split("."))
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


def _members(packages: Path, folder: str) -> list[str]:
    return [f"{folder}.{file.stem}" for file in packages.joinpath(*folder.split(".")).glob("[a-z]*.py")]
