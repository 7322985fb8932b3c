"""The distributions of an environment: whose a module is, and what each needs."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_EXTENSION = re.compile(r"\.(py|(cpython|abi3)[^/]*\.so|so)$")


class Installed:
    """What is installed in a folder of packages."""

    def __init__(self, packages: Path) -> None:
        self._by_name: dict[str, Distribution] = {
            canonicalize_name(each.name): each for each in distributions(path=[str(packages)])
        }
        self._owners = {module: name for name, each in self._by_name.items() for module in _modules(each)}

    @property
    def names(self) -> set[str]:
        """Of all distributions."""
        return set(self._by_name)

    def owner(self, module: str) -> str | None:
        """The distribution that a module, or what a module holds, comes from; None where it is not installed."""
        parts = module.split(".")
        known = (self._owners.get(".".join(parts[:length])) for length in range(len(parts), 0, -1))
        return next((name for name in known if name is not None), None)

    def is_folder_of_several(self, module: str) -> bool:
        """Whether a name is a namespace: there is something in it, and it is nobody's own."""
        return any(each.startswith(f"{module}.") for each in self._owners)

    def needed_by(self, names: Iterable[str], extras: Mapping[str, Iterable[str]]) -> set[str]:
        """These and all that they need, and what that needs: with these extras of some, by name."""
        wanted: defaultdict[str, set[str]] = defaultdict(set)
        waiting = [(name, frozenset(extras.get(name, ()))) for name in names]
        while waiting:
            name, more = waiting.pop()
            if name not in self._by_name or (name in wanted and more <= wanted[name]):
                continue
            wanted[name] |= more
            for line in self._by_name[name].requires or ():
                need = Requirement(line)
                if any(need.marker is None or need.marker.evaluate({"extra": extra}) for extra in ("", *wanted[name])):
                    waiting.append((canonicalize_name(need.name), frozenset(need.extras)))
        return set(wanted)


def _modules(each: Distribution) -> Iterable[str]:
    """The modules that a distribution brings, as dotted names."""
    for file in each.files or ():
        path = PurePosixPath(str(file))
        if path.parts[0] != ".." and _EXTENSION.search(path.name):
            parts = [*path.parts[:-1], _EXTENSION.sub("", path.name)]
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
