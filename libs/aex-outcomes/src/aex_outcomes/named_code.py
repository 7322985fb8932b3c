"""Foreign code that a configuration names by entry point or path."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from aex_outcomes.config import InvalidConfig

_MAX_TEXT = 500


def load_named(group: str, name: str) -> Any:
    """Load the object of an entry point or a path: `package.module:attribute`, `package.module.attribute`.

    Raises `LookupError` for a name that is neither, and any import error.
    """
    entry_point = _find_entry_point(group, name)
    if entry_point is not None:
        return entry_point.load()
    module, attribute = _split_path(name)
    if not module or not attribute:
        raise LookupError(f"there is no entry point {name!r} in the group {group}")
    return reduce(getattr, attribute.split("."), import_module(module))


def find_module(group: str, name: str) -> str:
    """Return the module that `load_named` imports. Raises `LookupError` for an ambiguous entry point."""
    entry_point = _find_entry_point(group, name)
    return entry_point.module if entry_point is not None else _split_path(name)[0]


def _find_entry_point(group: str, name: str) -> EntryPoint | None:
    found = entry_points(group=group, name=name)
    if len({each.value for each in found}) > 1:
        values = ", ".join(sorted(each.value for each in found))
        raise LookupError(f"several packages offer an entry point {name!r} in the group {group}: {values}")
    return next(iter(found), None)


def _split_path(name: str) -> tuple[str, str]:
    """Return a path's module and attribute; the module is empty for a name that is no path."""
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    return module, attribute


@contextmanager
def as_invalid_config(path: str, name: str, fix: str = "") -> Iterator[None]:
    """Raise `InvalidConfig` at `path` for any error while `name` is loaded, in one bounded line.

    A module that calls `sys.exit()` on import is such an error too.
    """
    try:
        yield
    except InvalidConfig:
        raise
    except (Exception, SystemExit) as error:  # importing foreign code can raise anything
        problem = f"{name} cannot be loaded: {describe_error(error)}"
        raise InvalidConfig([(path, f"{problem}; {fix}" if fix else problem)]) from error


def describe_error(error: BaseException) -> str:
    """Return an exception's type and text in one line, whatever its `__str__` does."""
    try:
        text = " ".join(str(error).split())[:_MAX_TEXT]
    except Exception:  # noqa: BLE001 foreign `__str__`: the type remains
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
