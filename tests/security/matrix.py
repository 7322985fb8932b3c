"""The authorisation matrix, read from its table."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aex_models.audiences import Audience
from aex_models.events import SERVICES

ROLES = tuple(Audience)
COLUMNS = ("anonymous", "foreign", *(role.value for role in ROLES))
_TABLE = Path(__file__).with_name("authorisation_matrix.md")
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

    @property
    def recipe(self) -> str:
        """Name of the row's recipe, which all services share."""
        return str(self).partition(" ")[2]


Cells = Mapping[str, str]
Matrix = Mapping[RowKey, Cells]


def read_table() -> Matrix:
    lines = [line for line in _TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    header, _, *table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert header == ["route", *COLUMNS, "decided by"]
    rows: dict[RowKey, Cells] = {}
    for name, *values, reason in table:
        cells = dict(zip(COLUMNS, values, strict=True))
        patterns = {column: _PARTY_CELL if column in ROLES else _STATUS for column in COLUMNS}
        assert reason, name
        assert all(patterns[column].fullmatch(cell) for column, cell in cells.items()), (name, cells)
        found = _ROUTE.fullmatch(name)
        assert found is not None, name
        for service in SERVICES if found["service"] == "every" else (found["service"],):
            key = RowKey(Route(service, found["method"], found["path"]), found["variant"] or "")
            assert key not in rows, key
            rows[key] = cells
    return rows


def admitted(cells: Cells) -> frozenset[Audience]:
    return frozenset(role for role in ROLES if not cells[role.value].startswith("403"))


def is_public(cells: Cells) -> bool:
    """Return whether the row's route answers without a token; a redirect to sign-in is no answer."""
    return cells["anonymous"] not in {"401", SIGN_IN}
