# ruff: noqa: S608 SQL is put together from words of this package, numbers, and indexes of columns
"""Columns computed from others of their row: expressions as SQL, and files that have such columns."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from aex_models.examination import DataOwner
from aex_models.expressions import ColumnReference, Constant, Expression, Operation, parse_expression
from aex_models.tables import DerivedColumn
from aex_outcomes.science.tables.cells import MISSING, NUMBER, TEXT, UNREADABLE, DataColumn
from aex_outcomes.science.tables.database import LockedDatabase
from aex_outcomes.science.tables.source_table import LoadedCells, OpenedFile

_FUNCTIONS = {"log": "ln", "log2": "log2", "log10": "log10", "exp": "exp", "sqrt": "sqrt", "abs": "abs"}


class DerivedFile(OpenedFile):
    """File with derived columns, which a view computes whenever they are read.

    A derived column hides the file's own of that name, even if it cannot be computed. Otherwise an agent's file could
    replace the work's expression.
    """

    def __init__(self, source: OpenedFile, derived: Sequence[DerivedColumn]) -> None:
        super().__init__(source.file, source.limits, source.deadline)
        self._source, self._derived = source, tuple(derived)

    @property
    def is_join(self) -> bool:
        return self._source.is_join

    @property
    def is_secret(self) -> bool:
        return self._source.is_secret

    @property
    def paths(self) -> tuple[str, ...]:
        return self._source.paths

    def owner_of(self, column: str | None) -> DataOwner:
        names = replace_derived_by_inputs((column,), self._computable) if column is not None else (None,)
        owners = {self._source.owner_of(name) for name in names}
        return DataOwner.AGENT if DataOwner.AGENT in owners else DataOwner.CONSUMER

    def read_column_names(self) -> tuple[str, ...]:
        hidden = {each.column for each in self._derived}
        own = (name for name in self._source.columns if name not in hidden)
        return tuple(dict.fromkeys((*own, *(each.column for each in self._computable))))

    @cached_property
    def _computable(self) -> tuple[DerivedColumn, ...]:
        """Return the derived columns whose inputs the file has, in order."""
        known, found = set(self._source.columns), []
        for each in self._derived:
            if known.issuperset(each.inputs):
                known.add(each.column)
                found.append(each)
        return tuple(found)

    def load_cells(
        self, database: LockedDatabase, names: Sequence[str], text_columns: Collection[str], *, with_groups: bool
    ) -> LoadedCells:
        needed, used = dict.fromkeys(names), []
        for each in reversed(self._computable):
            if each.column in needed:
                used.append(each)
                del needed[each.column]
                needed |= dict.fromkeys(each.inputs)
        columns, groups = self._source.load_cells(database, list(needed), text_columns, with_groups=with_groups)
        hidden = {each.column for each in self._derived}
        groups = {name: each for name, each in groups.items() if name not in hidden}
        if not used:
            return columns, groups
        database.fetch_rows("ALTER TABLE cells RENAME TO source_cells")
        sql, first = "SELECT rowid, * FROM source_cells", 1 + max(each.index for each in columns.values())
        for index, each in enumerate(reversed(used), first):
            sql = _add_column_sql(sql, each, columns, index)
            columns = {**columns, each.column: DataColumn(index)}
        database.fetch_rows(f"CREATE VIEW cells AS {sql}")
        return {name: columns[name] for name in names}, groups


def drop_loaded_cells(database: LockedDatabase) -> None:
    """Drop what a file has loaded: the table `cells`, or the view of that name and its source."""
    (views,) = database.fetch_row("SELECT count(*) FROM duckdb_views() WHERE view_name = 'cells'")
    for statement in ("DROP VIEW cells", "DROP TABLE source_cells") if views else ("DROP TABLE cells",):
        database.fetch_rows(statement)


def add_derived_columns(file: OpenedFile, derived: Iterable[DerivedColumn]) -> OpenedFile:
    """Return the file with the derived columns that are meant for it; if there are none, the file itself."""
    meant = (file.file.name,) if file.is_join else (None, file.file.name)
    own = [each for each in derived if each.artifact in meant]
    return DerivedFile(file, own) if own else file


def replace_derived_by_inputs(names: Iterable[str], derived: Sequence[DerivedColumn]) -> tuple[str, ...]:
    """Return the columns that a file needs to have by itself, so that it has the named ones."""
    found = dict.fromkeys(names)
    for each in reversed(derived):
        if each.column in found:
            inputs = dict.fromkeys(each.inputs)
            found = {name: None for name in found if name != each.column} | inputs
    return tuple(found)


def _add_column_sql(source: str, derived: DerivedColumn, columns: Mapping[str, DataColumn], index: int) -> str:
    """Return SQL for the rows that `source` selects, with kind, number and text of one more column.

    A cell is missing where an input is, or where the result is not finite. Where an input is a text it is unreadable,
    so that a statistic of that row is refused.
    """
    inputs, added = [columns[name] for name in derived.inputs], DataColumn(index)
    are_numbers = " AND ".join(f"{each.kind_sql} = {NUMBER}" for each in inputs)
    are_unreadable = " OR ".join(f"{each.kind_sql} IN ({TEXT}, {UNREADABLE})" for each in inputs)
    result = compile_expression_to_sql(parse_expression(derived.expression), columns)
    kind = f"CASE WHEN {are_unreadable} THEN {UNREADABLE} WHEN isfinite(v{index}) THEN {NUMBER} ELSE {MISSING} END"
    return (
        f"SELECT *, {kind} AS {added.kind_sql}, CASE WHEN isfinite(v{index}) THEN v{index} END AS {added.number_sql}, "
        f"NULL::VARCHAR AS {added.text_sql} "
        f"FROM (SELECT *, CASE WHEN {are_numbers} THEN {result} END AS v{index} FROM ({source}))"
    )


def compile_expression_to_sql(expression: Expression, columns: Mapping[str, DataColumn]) -> str:
    """Return SQL that computes an expression in doubles, and refers to columns by index, never by name."""
    match expression:
        case Constant(value=value):
            return f"({value!r}::DOUBLE)"
        case ColumnReference(name=name):
            return f"CAST({columns[name].number_sql} AS DOUBLE)"
        case Operation(name=name, operands=operands):
            return _operation_sql(name, [compile_expression_to_sql(each, columns) for each in operands])


def _operation_sql(name: str, operands: Sequence[str]) -> str:
    """Return SQL for an operation. An operand that is NaN makes the result NaN."""
    if name == "-" and len(operands) == 1:
        return f"(-{operands[0]})"
    if name in {"+", "-", "*", "/"}:
        return f"({f' {name} '.join(operands)})"
    if name == "max":
        return f"greatest({', '.join(operands)})"
    if name == "min":  # greatest() takes NaN for the largest, least() would leave it out
        return f"(-greatest({', '.join(f'-{each}' for each in operands)}))"
    return f"{_FUNCTIONS[name]}({operands[0]})"
