"""Loading of extractors and verifiers that a configuration names by entry point or import path."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from aex_outcomes.config import InvalidConfig

_MAX_TEXT = 500


def load_by_entry_point_or_path(entry_point_group: str, name: str) -> Any:
    """Import the object with the name of an entry point of the group, or else with this import path.

    Paths are `package.module:attribute` or `package.module.attribute`. Raises `LookupError` for a name that is neither,
    and any error of the import.
    """
    entry_point = _find_entry_point(entry_point_group, name)
    if entry_point is not None:
        return entry_point.load()
    module, attribute = _split_path(name)
    if not module or not attribute:
        raise LookupError(f"there is no entry point {name!r} in the group {entry_point_group}")
    return reduce(getattr, attribute.split("."), import_module(module))


def find_module_name(entry_point_group: str, name: str) -> str:
    """Return the name of the module that `load_by_entry_point_or_path` would import, without importing it.

    Raises `LookupError` if several packages offer the entry point.
    """
    entry_point = _find_entry_point(entry_point_group, name)
    return entry_point.module if entry_point is not None else _split_path(name)[0]


def _find_entry_point(group: str, name: str) -> EntryPoint | None:
    found = entry_points(group=group, name=name)
    if len({each.value for each in found}) > 1:
        values = ", ".join(sorted(each.value for each in found))
        raise LookupError(f"several packages offer an entry point {name!r} in the group {group}: {values}")
    return next(iter(found), None)


def _split_path(name: str) -> tuple[str, str]:
    """Return module and attribute of an import path; the module is empty if the name is no path."""
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    return module, attribute


@contextmanager
def as_invalid_config(key_path: str, code_name: str, fix: str = "") -> Iterator[None]:
    """Convert any error within the block to `InvalidConfig`, also `SystemExit` of an imported module.

    `key_path`: path of the key in the configuration. `code_name`: the code that the block loads. `fix`: advice at the
    message's end.
    """
    try:
        yield
    except InvalidConfig:
        raise
    except (Exception, SystemExit) as error:  # importing foreign code can raise anything
        problem = f"{code_name} cannot be loaded: {describe_error(error)}"
        raise InvalidConfig([(key_path, f"{problem}; {fix}" if fix else problem)]) from error


def describe_error(error: BaseException) -> str:
    """Return an exception's type and text in one line, cut at 500 characters, even if its `__str__` fails."""
    try:
        text = " ".join(str(error).split())[:_MAX_TEXT]
    except Exception:  # noqa: BLE001 foreign `__str__`: the type remains
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
