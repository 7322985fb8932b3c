"""The result of an import: its works, and the list of what was not translated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aex_cli.importing.checks import CheckGroup, NotTranslatable

_NAMED_ROWS = 3


@dataclass(frozen=True, slots=True)
class Untranslated:
    """An entry of `untranslated.json`."""

    path: str
    """JSON pointer into the imported file; empty for the file itself."""
    kind: str
    why: str


class UntranslatedList:
    """A list of untranslated graders. Rows with the same reason share one entry."""

    def __init__(self) -> None:
        self._rows: dict[Untranslated, list[int]] = {}

    def add(self, path: str, error: NotTranslatable, row: int = 0) -> None:
        """Add a grader at a JSON pointer; `row` is the number of the row that it was translated for, or 0."""
        rows = self._rows.setdefault(Untranslated(path, error.kind, error.why), [])
        rows += [row] if row else []

    def entries(self, row_count: int) -> list[Untranslated]:
        """Return the entries in order of addition.

        Rows are named unless an entry concerns all of the `row_count` rows.
        """
        return [
            each if len(rows) in {0, row_count} else Untranslated(each.path, each.kind, f"{each.why} ({_name(rows)})")
            for each, rows in self._rows.items()
        ]


def _name(rows: list[int]) -> str:
    named = ", ".join(map(str, rows[:_NAMED_ROWS]))
    more = f" and {len(rows) - _NAMED_ROWS} more" if len(rows) > _NAMED_ROWS else ""
    return f"row{'s' if len(rows) > 1 else ''} {named}{more}"


@dataclass(frozen=True, slots=True)
class ImportedWork:
    """A row of an imported eval: its title, the agent's input, and its checks."""

    title: str
    input: Mapping[str, Any]
    group: CheckGroup
    path: str
    """JSON pointer to the row in the imported file; empty for a row of a data file."""
    row: int
    """Number of the row, counted from 1; 0 for an eval without rows."""


@dataclass(frozen=True, slots=True)
class ImportedEval:
    """The translation of a complete eval."""

    name: str
    works: tuple[ImportedWork, ...]
    untranslated: UntranslatedList
