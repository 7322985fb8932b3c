"""Code that a configuration names: by entry point, or by path. It is other people's, and loading it can fail anyhow."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from aex_outcomes.config import InvalidConfig

_MAX_SAID = 500


def code_named(group: str, name: str) -> Any:
    """What an entry point's name stands for, or else a path: `package.module:attribute`, `package.module.attribute`.

    Raises `LookupError` for what is neither, and whatever the import raises.
    """
    entry_point = _offered(group, name)
    if entry_point is not None:
        return entry_point.load()
    module, attribute = _path(name)
    if not module or not attribute:
        raise LookupError(f"there is no entry point {name!r} in the group {group}")
    return reduce(getattr, attribute.split("."), import_module(module))


def module_named(group: str, name: str) -> str:
    """The module that `code_named` imports. Raises `LookupError` for an ambiguous entry point."""
    entry_point = _offered(group, name)
    return entry_point.module if entry_point is not None else _path(name)[0]


def _offered(group: str, name: str) -> EntryPoint | None:
    """Where packages offer different things under one name, it is not guessed which one is meant."""
    found = entry_points(group=group, name=name)
    if len({each.value for each in found}) > 1:
        values = ", ".join(sorted(each.value for each in found))
        raise LookupError(f"several packages offer an entry point {name!r} in the group {group}: {values}")
    return next(iter(found), None)


def _path(name: str) -> tuple[str, str]:
    """A path's module and attribute; the module is empty where `name` is no path."""
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    return module, attribute


@contextmanager
def blamed_on(place: str, name: str, fix: str = "") -> Iterator[None]:
    """Raise `InvalidConfig` at `place` for whatever goes wrong while `name` is loaded, in one line of bounded length.

    A module that ends the process as it is imported (`sys.exit()`) does not: that is its mistake too.
    """
    try:
        yield
    except InvalidConfig:
        raise
    except (Exception, SystemExit) as error:  # importing other people's code can fail in any way
        problem = f"{name} cannot be loaded: {said_by(error)}"
        raise InvalidConfig([(place, f"{problem}; {fix}" if fix else problem)]) from error


def said_by(error: BaseException) -> str:
    """An exception's type and text in one line, whatever its `__str__` does."""
    try:
        text = " ".join(str(error).split())[:_MAX_SAID]
    except Exception:  # noqa: BLE001 other people's code once more: the type is told all the same
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
