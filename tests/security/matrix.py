"""The authorisation matrix: read from its table, compared with what was found, and printed."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aex_models.audiences import Audience
from aex_models.events import SERVICES

ROLES = tuple(Audience)
COLUMNS = ("anonymous", "foreign", *(role.value for role in ROLES))
TABLE = Path(__file__).with_name("authorisation_matrix.md")
_ROUTE = re.compile(r"(?P<service>[a-z-]+) (?P<method>[A-Z]+) (?P<path>\S+)(?: \[(?P<variant>\w+)\])?")
FORGED = "forged"
"""A 403 not for the caller's role: a form that no page of the service has sent."""
SIGN_IN = "sign-in"
"""A redirect to the page on which one signs in."""
_STATUS = re.compile(rf"\d{{3}}|{FORGED}|{SIGN_IN}")
_PARTY_CELL = re.compile(rf"(\d{{3}}|shown|hidden|{FORGED}|{SIGN_IN})/(\d{{3}}|shown|hidden|{FORGED}|-)")


@dataclass(frozen=True, order=True, slots=True)
class Route:
    """A method on a path of a service."""

    service: str
    method: str
    path: str


@dataclass(frozen=True, order=True, slots=True)
class RowKey:
    """A row of the matrix: a route, and the state of its object where that matters."""

    route: Route
    variant: str = ""

    def __str__(self) -> str:
        suffix = f" [{self.variant}]" if self.variant else ""
        return f"{self.route.service} {self.route.method} {self.route.path}{suffix}"


Cells = Mapping[str, str]
Matrix = Mapping[RowKey, Cells]


class BadTable(ValueError):
    """The table cannot be read, or has a cell that nothing explains."""


def read_table(text: str) -> Matrix:
    """The rows of the table. Raises `BadTable`."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    if cells[0] != ["route", *COLUMNS, "decided by"]:
        raise BadTable(f"columns are {cells[0]}")
    rows: dict[RowKey, Cells] = {}
    for row in cells[2:]:
        for key in _keys(row[0]):
            if key in rows:
                raise BadTable(f"twice: {key}")
            rows[key] = _checked(key, row[1:])
    return rows


def _keys(text: str) -> list[RowKey]:
    found = _ROUTE.fullmatch(text)
    if found is None:
        raise BadTable(f"no route: {text}")
    services = SERVICES if found["service"] == "every" else (found["service"],)
    return [RowKey(Route(service, found["method"], found["path"]), found["variant"] or "") for service in services]


def _checked(key: RowKey, values: Sequence[str]) -> Cells:
    if len(values) != len(COLUMNS) + 1 or not values[-1]:
        raise BadTable(f"{key}: a cell for each column and its reason, found {values}")
    row = dict(zip(COLUMNS, values, strict=False))
    for column, cell in row.items():
        pattern = _STATUS if column in {"anonymous", "foreign"} else _PARTY_CELL
        if pattern.fullmatch(cell) is None:
            raise BadTable(f"{key}, {column}: {cell!r}")
    return row


def admitted(cells: Cells) -> frozenset[Audience]:
    return frozenset(role for role in ROLES if not cells[role.value].startswith("403"))


def is_public(cells: Cells) -> bool:
    """Return whether the row's route answers without a token; a redirect to sign-in is no answer."""
    return cells["anonymous"] not in {"401", SIGN_IN}


def uncovered(rows: Iterable[RowKey], routes: Iterable[Route]) -> list[str]:
    """Routes without a row, and rows without a route."""
    in_table, there = {row.route for row in rows}, set(routes)
    return [
        *(f"no row for {RowKey(route)}" for route in sorted(there - in_table)),
        *(f"no route for {RowKey(route)}" for route in sorted(in_table - there)),
    ]
