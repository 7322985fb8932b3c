"""Checks of derived columns and joins in a body's `science`: their names and their order.

Parts of a wrong shape are skipped, because the model reports them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from aex_models.tables import DerivedColumn, Join
from aex_models.work import Problem

_Item = TypeVar("_Item", bound=BaseModel)


def check_derived_columns(listed: Sequence[Any], root: str) -> Iterator[Problem]:
    """Yield the problems of derived columns: equal names, and reading of columns that follow.

    `root`: JSON pointer of the list.
    """
    sound = _parse_items(listed, DerivedColumn)
    for position, each in sound.items():
        beside = {index: other for index, other in sound.items() if _may_share_table(each, other)}
        first = next(index for index, other in beside.items() if other.column == each.column)
        if first != position:
            message = f"Derived columns {first} and {position} have the same name: rename one"
            yield Problem(path=f"{root}/{position}/column", code="duplicate_column", message=message)
        following = [other.column for index, other in beside.items() if index > position]
        below = next((name for name in each.inputs if name in following and name != each.column), None)
        if below is not None:
            message = f"It reads {below}, which is derived below it: move {below} up, or rename it"
            yield Problem(path=f"{root}/{position}/expression", code="derived_below", message=message)


def check_joins(listed: Sequence[Any], data_names: Collection[str | None], root: str) -> Iterator[Problem]:
    """Yield the problems of joins: names that are taken, and reading of joins that follow.

    `data_names`: names of the work's own files. `root`: JSON pointer of the list.
    """
    sound = _parse_items(listed, Join)
    for position, each in sound.items():
        path = f"{root}/{position}"
        first = next(index for index, other in sound.items() if other.name == each.name)
        if first != position:
            message = f"Joins {first} and {position} have the same name: rename one"
            yield Problem(path=f"{path}/name", code="duplicate_join", message=message)
        if each.name in data_names:
            message = f"A file of science.data is called {each.name}: give the join another name"
            yield Problem(path=f"{path}/name", code="duplicate_join", message=message)
        following = {other.name for index, other in sound.items() if index > position}
        for side, name in (("left", each.left), ("right", each.right)):
            if name in following:
                message = f"{name} is a join below this one: move it up"
                yield Problem(path=f"{path}/{side}", code="join_below", message=message)


def _parse_items(listed: Sequence[Any], model: type[_Item]) -> Mapping[int, _Item]:
    """Return the items of a right shape by position."""
    found = {}
    for position, each in enumerate(listed):
        try:
            found[position] = model.model_validate(each)
        except ValidationError:
            continue
    return found


def _may_share_table(first: DerivedColumn, second: DerivedColumn) -> bool:
    return None in (first.artifact, second.artifact) or first.artifact == second.artifact
