"""How deep JSON may nest here: what every reader of it takes, however small its stack."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from aex_models.canonical import escape_pointer

MAX_DEPTH = 63
"""Of outputs, queries, messages and metadata: what a request may have, less the level that holds the output."""
MAX_RESULT_DEPTH = 128
"""Of final results, which often hold the output; pydantic reads back some 190."""
_CONTAINERS = (dict, list, tuple, BaseModel)


def too_deep(value: Any, most: int = MAX_DEPTH) -> str | None:
    """The JSON pointer to the first container that is nested deeper than `most` levels, or None.

    Level by level, each container once in a level: it ends for values that contain themselves, too.
    """
    levels = [_containers([value])]
    while levels[-1]:
        if len(levels) > most:
            return _pointer(levels)
        levels.append(_containers(child for each in levels[-1].values() for _, child in _members(each)))
    return None


def _containers(values: Iterable[Any]) -> dict[int, Any]:
    return {id(each): each for each in values if isinstance(each, _CONTAINERS)}


def _members(container: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(container, dict):
        return container.items()
    if isinstance(container, BaseModel):
        return {**container.__dict__, **(container.__pydantic_extra__ or {})}.items()
    return enumerate(container)


def _pointer(levels: list[dict[int, Any]]) -> str:
    """From the deepest level's first container upwards, through a container that holds it in each level above."""
    wanted, path = next(iter(levels[-1])), ""
    for level in reversed(levels[:-1]):
        holders = ((each, key) for each in level.values() for key, child in _members(each) if id(child) == wanted)
        holder, key = next(holders)
        wanted, path = id(holder), f"/{escape_pointer(str(key))}{path}"
    return path
