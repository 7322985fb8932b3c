"""Modules of the tested program, as the tester imports them.

The program may offer any names to `from MODULE import *`. In one process it could replace `abs`, `set` or a name that
the test has imported, and so decide what the test compares.
"""

import ast
import builtins
import dis
import sys
import types
from collections.abc import Iterable, Mapping
from importlib.machinery import ModuleSpec
from typing import Any

from aex_outcomes.testing.memory_importer import list_parent_packages
from aex_outcomes.testing.program_client import ProgramClient

_STAR_IMPORTS = {"IMPORT_STAR", "CALL_INTRINSIC_1"}
"""Instructions that import all names, in Python 3.11 and in later versions."""
_BUILTIN_NAMES = frozenset(vars(builtins))


class ProgramModule(types.ModuleType):
    """Module of the program in the tester; its attributes are read from the candidate process."""

    def __getattr__(self, name: str) -> Any:
        handle = self.__dict__.get("_aex_handle")
        if handle is None:
            raise AttributeError(name)
        try:
            value = getattr(handle, name)
        except AttributeError:
            if name != "__all__":
                raise
            value = [each for each in dir(handle) if not each.startswith("_")]
        frame = sys._getframe(1)
        return choose_names(value, frame.f_globals) if name == "__all__" and is_star_import(frame) else value

    def __setattr__(self, name: str, value: Any) -> None:
        handle = self.__dict__.get("_aex_handle")
        if handle is None or isinstance(value, types.ModuleType) or name.startswith("__"):
            super().__setattr__(name, value)
        else:
            setattr(handle, name, value)


class ProgramFinder:
    """Finder and loader of the program's modules, which the candidate process imports."""

    def __init__(self, client: ProgramClient, names: Iterable[str]) -> None:
        self._client = client
        self._names = frozenset(names)
        self._packages = list_parent_packages(self._names)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module of the program, else None."""
        del path, target
        is_package = fullname in self._packages
        if fullname not in self._names and not is_package:
            return None
        return ModuleSpec(fullname, self, is_package=is_package)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ProgramModule:
        """Return an empty module."""
        return ProgramModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Import the module in the candidate process."""
        module.__dict__["_aex_handle"] = self._client.request("import", module.__name__)


def is_star_import(frame: types.FrameType) -> bool:
    """Return True if the code of the frame is at `from MODULE import *`."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] in _STAR_IMPORTS


def choose_names(offered: Iterable[Any], namespace: Mapping[str, Any]) -> list[str]:
    """Return the names of a program that a star import may bind in the namespace of a test's module.

    Names with two leading underscores are left out, and so are those that are bound already. Names of built-in
    functions are left out, unless the test uses no other name of the program, as in `assert sum(10, 15) == 6`.
    """
    names = [each for each in offered if type(each) is str and not each.startswith("__") and each not in namespace]
    if _uses_own_names(namespace):
        return [each for each in names if each not in _BUILTIN_NAMES]
    return names


def _uses_own_names(namespace: Mapping[str, Any]) -> bool:
    """Return True if a module uses a name that it neither binds itself nor finds among the built-in ones."""
    loaded, bound = set[str](), {*_BUILTIN_NAMES, *namespace}
    for node in ast.walk(ast.parse(namespace["__loader__"].get_source(namespace["__name__"]))):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                loaded.add(name)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.alias():
                bound.add((node.asname or node.name).partition(".")[0])
    return not loaded <= bound
