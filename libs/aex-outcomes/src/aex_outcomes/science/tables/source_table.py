"""Raw data of an examination: the names of a file's columns, and its rows, read on demand."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property

import duckdb

from aex_models.examination import DataOwner
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.source_files import (
    MEDIA_TYPES,
    DataFormat,
    SourceFile,
    find_unsupported_charset,
    resolve_data_format,
)
from aex_outcomes.science.tables import cells, parquet, parquet_groups, text_rows
from aex_outcomes.science.tables.cells import DataColumn, DataTable, GroupColumn, create_cells_table_sql
from aex_outcomes.science.tables.database import Deadline, LockedDatabase, open_locked_database
from aex_outcomes.science.tables.file_checks import (
    DataError,
    check_file_and_resolve_path,
    out_of_memory_error,
    quote_name_for_message,
)
from aex_outcomes.science.tables.group_codes import GroupEncoder

_GLOB = frozenset("*?[")
_Loaded = tuple[list[bool], dict[str, GroupColumn]]
"""For each loaded column whether it holds integers, and the columns by which the rows can be grouped."""
LoadedCells = tuple[dict[str, DataColumn], dict[str, GroupColumn]]
"""The loaded columns, and those by which the rows can be grouped, by name."""


class OpenedFile(ABC):
    """Columns and rows of raw data, read on demand: the column names once, the rows by each `load_table`.

    It is a file, or a table made of files. Reading raises `DataError` for unusable data.
    """

    def __init__(self, file: SourceFile, limits: DataLimits, deadline: Deadline) -> None:
        self.file = file
        self.limits = limits
        self.deadline = deadline
        self.error: DataError | None = None
        """Error that makes the complete file unusable; None as long as none is known."""
        self._open = ExitStack()
        self._kept: DataTable | None = None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns, read from the file on first use. Keeps and raises its `DataError`."""
        if self.error is not None:
            raise self.error
        try:
            with self.deadline.count_time():
                self.deadline.raise_if_over()
                return self.read_column_names()
        except (DataError, MemoryError) as error:
            self.error = error if isinstance(error, DataError) else out_of_memory_error()
            raise self.error from None

    @contextmanager
    def load_table(
        self, column_names: Collection[str], text_columns: Collection[str], *, with_groups: bool = False
    ) -> Iterator[DataTable]:
        """Load the named columns into a database table, which exists until the end of the block.

        `text_columns`: names of the columns whose texts are stored beside their numbers. `with_groups`: true to also
        find the columns of the file by which its rows can be grouped. Names that the file lacks are ignored; without
        any other name its first column is loaded, so that rows can be counted. Raises `DataError`, also for a file
        without rows.
        """
        with self.deadline.count_time():
            if self._kept is not None and not text_columns and self._kept.columns.keys() >= set(column_names):
                yield self._kept
                return
            with self._load(column_names, text_columns, with_groups) as table:
                yield table

    def load_and_keep_table(self, column_names: Collection[str]) -> DataTable:
        """Load the named columns with groups, for every later `load_table` of some of them, until `close`."""
        with self.deadline.count_time():
            self._kept = self._open.enter_context(self._load(column_names, (), with_groups=True))
        return self._kept

    def close(self) -> None:
        """Release the rows of `load_and_keep_table`."""
        self._kept = None
        self._open.close()

    @contextmanager
    def _load(
        self, column_names: Collection[str], text_columns: Collection[str], with_groups: bool
    ) -> Iterator[DataTable]:
        names = [name for name in self.columns if name in column_names] or [self.columns[0]]
        with open_locked_database(self.paths, self.limits, self.deadline) as database:
            columns, groups = self.load_cells(database, names, text_columns, with_groups=with_groups)
            (rows,) = database.fetch_row("SELECT count(*) FROM cells")
            self.check_row_count(rows)
            if rows == 0:
                raise DataError("no_rows", "there is no row below the header")
            yield DataTable(database, columns, rows, groups)

    def check_row_count(self, rows: int) -> None:
        """Raise `DataError` for more rows than the limits allow."""
        if rows > self.limits.max_rows:
            raise DataError("too_many_rows", f"more than {self.limits.max_rows} rows: give fewer")

    @property
    def is_join(self) -> bool:
        """Return True for a table made of files, which only its own name selects."""
        return False

    @property
    def is_secret(self) -> bool:
        """Return True if some of the data are the consumer's."""
        return self.file.owner is DataOwner.CONSUMER

    def owner_of(self, column: str | None) -> DataOwner:  # noqa: ARG002 joins tell their columns apart
        """Return the owner of a column's data; None stands for the complete table."""
        return self.file.owner

    @property
    @abstractmethod
    def paths(self) -> tuple[str, ...]:
        """Return the real paths that the database may read. Raises `DataError` for an unusable file."""

    @abstractmethod
    def read_column_names(self) -> tuple[str, ...]:
        """Read the names of the columns, within the deadline. Raises `DataError`."""

    @abstractmethod
    def load_cells(
        self, database: LockedDatabase, names: Sequence[str], text_columns: Collection[str], *, with_groups: bool
    ) -> LoadedCells:
        """Create `cells` in the database with these columns, which all exist. Raises `DataError`."""


class RawFile(OpenedFile):
    """File of raw data as its owner sent it."""

    @property
    def paths(self) -> tuple[str, ...]:
        return (self._path,)

    def read_column_names(self) -> tuple[str, ...]:
        form, path = self._form, self._path
        if form is DataFormat.JSON_LINES:
            return text_rows.read_json_keys(path, self.limits)
        if form is not DataFormat.PARQUET:
            return text_rows.read_header(path, form, self.limits)
        with open_locked_database((path,), self.limits, self.deadline) as database:
            return parquet.read_parquet_schema(database, path, self.limits).names

    def load_cells(
        self, database: LockedDatabase, names: Sequence[str], text_columns: Collection[str], *, with_groups: bool
    ) -> LoadedCells:
        with_text = [name in text_columns for name in names]
        load = self._load_parquet if self._form is DataFormat.PARQUET else self._load_rows
        is_integer, groups = load(database, names, with_text, with_groups)
        return {name: DataColumn(index, is_integer[index]) for index, name in enumerate(names)}, groups

    @cached_property
    def _form(self) -> DataFormat:
        form = resolve_data_format(self.file)
        if form is None:
            raise DataError("unsupported_media_type", f"the media type is none that is read: {', '.join(MEDIA_TYPES)}")
        charset = find_unsupported_charset(self.file)
        if charset is not None:
            raise DataError(
                "not_utf8", f"the media type says charset {quote_name_for_message(charset)}: save the file as UTF-8"
            )
        return form

    @cached_property
    def _path(self) -> str:
        path = check_file_and_resolve_path(self.file, self.limits)
        if _GLOB & set(path):
            raise DataError("artifact_missing", "a path with *, ? or [ in it is not opened: rename the file")
        return path

    def _load_rows(
        self, database: LockedDatabase, names: Sequence[str], with_text: Sequence[bool], with_groups: bool
    ) -> _Loaded:
        """Load the rows of a text file into the table `cells`."""
        is_integer, has_marks = [False] * len(names), self._form is DataFormat.JSON_LINES
        encoder = GroupEncoder(self.columns if with_groups else (), has_marks=has_marks)
        database.fetch_rows(create_cells_table_sql(is_integer, len(encoder.names)))
        insert = cells.insert_cells_sql(with_text, has_marks=has_marks, groups=len(encoder.names))
        columns = self.columns
        if has_marks:
            columns = tuple(dict.fromkeys([*names, *encoder.names]))
            batches = text_rows.read_json_row_batches(self._path, columns, self.limits)
        else:
            batches = text_rows.read_row_batches(self._path, self._form, len(columns), self.limits)
        indexes, group_indexes = ([columns.index(name) for name in each] for each in (names, encoder.names))
        rows = 0
        for batch in batches:
            rows += len(batch[0])
            self.check_row_count(rows)
            joined = (cells.SEPARATOR.join(batch[index]) for index in indexes)
            database.fetch_rows(insert, [*joined, *encoder.encode_batch([batch[index] for index in group_indexes])])
        return is_integer, encoder.build_group_columns()

    def _load_parquet(
        self, database: LockedDatabase, names: Sequence[str], with_text: Sequence[bool], with_groups: bool
    ) -> _Loaded:
        every, types = parquet.read_parquet_schema(database, self._path, self.limits)
        indexes = [every.index(name) for name in names]
        is_integer = [types[index] in parquet.INTEGER_TYPES for index in indexes]
        try:
            groups = parquet_groups.find_group_columns(database, self._path, types) if with_groups else []
            texts = [parquet_groups.group_text_sql(each.index, types) for each in groups]
            database.fetch_rows(create_cells_table_sql(is_integer, len(groups)))
            insert = parquet.insert_parquet_cells_sql(types, indexes, with_text, self.limits.max_rows + 1, texts)
            database.fetch_rows(insert, [*(list(each.texts) for each in groups), self._path])
        except duckdb.Error as error:
            raise parquet.build_unreadable_parquet_error(error) from None
        return is_integer, {every[each.index]: each.as_group_column(at) for at, each in enumerate(groups)}
