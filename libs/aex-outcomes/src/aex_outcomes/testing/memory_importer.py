"""Import of modules from memory, in processes that cannot open files."""

import importlib.abc
import importlib.machinery
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any


def map_modules_to_paths(files: Iterable[str]) -> dict[str, str]:
    """Return the path of each Python file by the dotted name of its module.

    `package/__init__.py` gives `package`. Paths that are no importable modules are left out.
    """
    names: dict[str, str] = {}
    for path in files:
        stem, _, suffix = path.rpartition(".")
        parts = stem.split("/")
        if suffix == "py" and all(part.isidentifier() for part in parts):
            dotted = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
            names[dotted] = path
    return names


def list_parent_packages(names: Iterable[str]) -> set[str]:
    """Return the packages that contain these modules, also those without an `__init__.py`."""
    parts = [name.split(".") for name in names]
    return {".".join(each[:end]) for each in parts for end in range(1, len(each))}


class SourceFinder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finder and loader of modules by their source text."""

    def __init__(self, files: Mapping[str, str]) -> None:
        """Keep the source text of each file by its path."""
        self._paths = map_modules_to_paths(files)
        self._files = files
        self._packages = list_parent_packages(self._paths)

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """Return the spec of a module that is in memory, else None."""
        del path, target
        if fullname not in self._paths and fullname not in self._packages:
            return None
        is_package = fullname in self._packages or self._paths[fullname].endswith("/__init__.py")
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=is_package)
        spec.origin = self._paths.get(fullname)
        spec.has_location = spec.origin is not None
        return spec

    def is_package(self, fullname: str) -> bool:
        """Return True if the module is a package."""
        return fullname in self._packages

    def get_source(self, fullname: str) -> str:
        """Return the source text of a module; empty for a package without an `__init__.py`."""
        path = self._paths.get(fullname)
        return "" if path is None else self._files[path]

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's source text in its namespace."""
        name = module.__name__
        exec(compile(self.get_source(name), self._paths.get(name, name), "exec", dont_inherit=True), module.__dict__)  # noqa: S102 the confined process is for this
