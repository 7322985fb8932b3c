# ruff: noqa: S608 SQL is put together from words of this package and indexes; names never stand there
"""Joins of files: tables with the columns of two files, for rows that agree in their keys."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property

from aex_models.examination import DataOwner
from aex_models.tables import DerivedColumn, Join, JoinKind
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.derived import add_derived_columns, drop_loaded_cells
from aex_outcomes.science.source_files import SourceFile
from aex_outcomes.science.statistics.column_values import require_readable_cells
from aex_outcomes.science.statistics.conditions import EVERY_ROW
from aex_outcomes.science.tables.cells import MISSING, NUMBER, DataColumn, DataTable
from aex_outcomes.science.tables.database import Deadline, LockedDatabase
from aex_outcomes.science.tables.file_checks import DataError, quote_name_for_message, quote_names_for_message
from aex_outcomes.science.tables.source_table import LoadedCells, OpenedFile

_CLASH = "right."
"""Prefix of a column of the right file whose name the left one has, too."""


def prepare_joins(
    joins: Sequence[Join], files: Sequence[OpenedFile], derived: Sequence[DerivedColumn], limits: DataLimits
) -> list[OpenedFile]:
    """Return the joins of these files, with their derived columns. Nothing is read yet.

    A name in a join means an earlier join of that name, else the first file of that name.
    """
    tables = {each.file.name: each for each in reversed(files)}
    found = []
    for index, join in enumerate(joins):
        found.append(add_derived_columns(JoinedFile(join, index, tables, limits), derived))
        tables[join.name] = found[-1]
    return found


class JoinedFile(OpenedFile):
    """Two files as one table.

    It is the agent's if one of them is, and secret if one of them is the consumer's.
    """

    def __init__(self, join: Join, index: int, tables: Mapping[str, OpenedFile], limits: DataLimits) -> None:
        self._join, self._index = join, index
        self._parts = {name: tables[name] for name in (join.left, join.right) if name in tables}
        agents = [each for each in self._parts.values() if each.file.owner is DataOwner.AGENT]
        own = not agents and self._parts.keys() == {join.left, join.right}
        deadline = next((each.deadline for each in (*agents, *self._parts.values())), Deadline(limits.cpu_seconds))
        file = SourceFile(join.name, "", "", DataOwner.CONSUMER if own else DataOwner.AGENT)
        super().__init__(file, limits, deadline)

    @property
    def is_join(self) -> bool:
        return True

    @property
    def is_secret(self) -> bool:
        return any(each.is_secret for each in self._parts.values())

    def owner_of(self, column: str | None) -> DataOwner:
        if column is None:
            return self.file.owner
        left, right = self._columns_by_side
        name, side = (self._join.left, left) if column in left else (self._join.right, right)
        return self._parts[name].owner_of(side[column])

    @property
    def paths(self) -> tuple[str, ...]:
        found: list[str] = []
        for name in self._part_names:
            with self._blamed(name) as part:
                found += part.paths
        return tuple(dict.fromkeys(found))

    def read_column_names(self) -> tuple[str, ...]:
        left, right = self._columns_by_side
        if len(left) + len(right) > self.limits.max_columns:
            raise DataError("too_many_columns", f"the join has more than {self.limits.max_columns} columns")
        return (*left, *right)

    @cached_property
    def _columns_by_side(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the columns of the left file and of the right one: name in the join → name in the file."""
        columns = []
        for name in self._part_names:
            with self._blamed(name) as part:
                columns.append(part.columns)
                gone = [key for key in self._join.on if key not in part.columns]
                if gone:
                    there = "" if part.is_secret else f"; there are {quote_names_for_message(part.columns)}"
                    where = f"in {quote_name_for_message(name)}"
                    raise DataError("column_missing", f"no column {quote_names_for_message(gone)} {where}{there}")
        left, right = {name: name for name in columns[0]}, {}
        for name in columns[1]:
            if name not in self._join.on:
                joined = name
                while joined in left or joined in right:
                    joined = _CLASH + joined
                right[joined] = name
        return left, right

    def load_cells(
        self,
        database: LockedDatabase,
        names: Sequence[str],
        text_columns: Collection[str],
        *,
        with_groups: bool,  # noqa: ARG002 only files are searched for mixed groups
    ) -> LoadedCells:
        selected: list[str] = []
        tables: list[str] = []
        found: dict[str, DataColumn] = {}
        for side, part, columns in zip(("left", "right"), self._part_names, self._columns_by_side, strict=True):
            tables.append(f"{side}_of_join_{self._index}")
            own = {name: columns[name] for name in names if name in columns}
            texts = {columns[name] for name in text_columns if name in own}
            loaded = self._load_part(database, part, own.values(), texts, tables[-1])
            for joined, name in own.items():
                found[joined] = DataColumn(len(found), loaded[name].is_integer)
                selected.append(_select_sql(tables[-1], loaded[name], found[joined]))
        left, right = tables
        self._require_unique_keys(database, right)
        kind = "LEFT JOIN" if self._join.how is JoinKind.LEFT else "JOIN"
        agree = " AND ".join(f"{left}.{key} IS NOT DISTINCT FROM {right}.{key}" for key in self._key_columns)
        matchable = f"(SELECT * FROM {right} WHERE has_keys) AS {right}"
        sql = f"CREATE TABLE cells AS SELECT {', '.join(selected)} FROM {left} {kind} {matchable} ON {agree}"
        for statement in (sql, *(f"DROP TABLE {table}" for table in tables)):
            database.fetch_rows(statement)
        if not database.fetch_row("SELECT count(*) FROM cells")[0]:
            raise DataError("no_rows", f"no rows of the joined files agree in {quote_names_for_message(self._join.on)}")
        return found, {}

    @property
    def _part_names(self) -> tuple[str, str]:
        return self._join.left, self._join.right

    @property
    def _key_columns(self) -> list[str]:
        """Return the names of the columns that hold the keys: of each a number, or else a text."""
        return [f"key_{form}_{index}" for index in range(len(self._join.on)) for form in ("number", "text")]

    def _load_part(
        self, database: LockedDatabase, name: str, columns: Iterable[str], texts: Iterable[str], table: str
    ) -> dict[str, DataColumn]:
        """Load columns of a file into `table`, with its keys; return how SQL refers to the columns."""
        on = self._join.on
        with self._blamed(name) as part:
            needed = tuple(dict.fromkeys((*columns, *on)))
            loaded, _ = part.load_cells(database, needed, {*texts, *on}, with_groups=False)
            (rows,) = database.fetch_row("SELECT count(*) FROM cells")
            part.check_row_count(rows)
            keys = [loaded[key] for key in on]
            for key in on:
                require_readable_cells(DataTable(database, loaded, rows), key, EVERY_ROW)
            cells = [sql for each in loaded.values() for sql in (each.kind_sql, each.number_sql, each.text_sql)]
            for index, each in enumerate(keys):
                is_number = f"{each.kind_sql} = {NUMBER}"
                cells.append(f"CASE WHEN {is_number} THEN {each.number_sql} END AS key_number_{index}")
                cells.append(f"CASE WHEN NOT ({is_number}) THEN {each.text_sql} END AS key_text_{index}")
            has_keys = " AND ".join(f"{each.kind_sql} <> {MISSING}" for each in keys)
            database.fetch_rows(f"CREATE TABLE {table} AS SELECT {', '.join(cells)}, {has_keys} AS has_keys FROM cells")
            drop_loaded_cells(database)
        return loaded

    def _require_unique_keys(self, database: LockedDatabase, table: str) -> None:
        keys = ", ".join(self._key_columns)
        repeated = f"SELECT {keys} FROM {table} WHERE has_keys GROUP BY {keys} HAVING count(*) > 1"
        (count,) = database.fetch_row(f"SELECT count(*) FROM ({repeated})")
        if count:
            with self._blamed(self._join.right):
                names = quote_names_for_message(self._join.on)
                where = f"stand in more than one row of {quote_name_for_message(self._join.right)}"
                raise DataError("join_not_unique", f"{count} keys ({names}) {where}: give one row a key")

    @contextmanager
    def _blamed(self, name: str) -> Iterator[OpenedFile]:
        """Provide a part of the join; a `DataError` within the block names its owner."""
        part = self._parts.get(name)
        if part is None:
            message = f"the join reads {quote_name_for_message(name)}, and no file is called so: send it"
            raise DataError("artifact_missing", message, owner=DataOwner.AGENT)
        try:
            yield part
        except DataError as error:
            error.owner = error.owner or part.owner_of(error.column)
            raise


def _select_sql(table: str, source: DataColumn, target: DataColumn) -> str:
    """Return SQL that renames a column's cells; where the join has no row of its file they are missing."""
    return (
        f"coalesce({table}.{source.kind_sql}, {MISSING}) AS {target.kind_sql}, "
        f"{table}.{source.number_sql} AS {target.number_sql}, {table}.{source.text_sql} AS {target.text_sql}"
    )
