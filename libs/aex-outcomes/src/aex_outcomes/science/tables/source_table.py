"""File of raw data in an examination: reads its column names and loads its rows on demand."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property

import duckdb

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
    out_of_memory_error,
    quote_name_for_message,
    resolve_checked_path,
)
from aex_outcomes.science.tables.group_codes import GroupEncoder

_GLOB = frozenset("*?[")
_Loaded = tuple[list[bool], dict[str, GroupColumn]]
"""For each loaded column whether it holds integers, and the columns by which the rows can be grouped."""


class OpenedFile:
    """File of raw data that is read on demand: its column names once, its rows by each `load_table`.

    Reading raises `DataError` for an unusable file.
    """

    def __init__(self, file: SourceFile, limits: DataLimits, deadline: Deadline) -> None:
        self.file = file
        self._limits = limits
        self._deadline = deadline
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
            with self._deadline.count_time():
                self._deadline.raise_if_over()
                form, path = self._form, self._path
                if form is DataFormat.JSON_LINES:
                    return text_rows.read_json_keys(path, self._limits)
                if form is not DataFormat.PARQUET:
                    return text_rows.read_header(path, form, self._limits)
                with open_locked_database(path, self._limits, self._deadline) as database:
                    return parquet.read_parquet_schema(database, path, self._limits)[0]
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
        with self._deadline.count_time():
            if self._kept is not None and not text_columns and self._kept.columns.keys() >= set(column_names):
                yield self._kept
                return
            with self._load(column_names, text_columns, with_groups) as table:
                yield table

    def keep_table(self, column_names: Collection[str]) -> DataTable:
        """Load the named columns with groups, for every later `load_table` of some of them, until `close`."""
        with self._deadline.count_time():
            self._kept = self._open.enter_context(self._load(column_names, (), with_groups=True))
        return self._kept

    def close(self) -> None:
        """Release the rows of `keep_table`."""
        self._kept = None
        self._open.close()

    @contextmanager
    def _load(
        self, column_names: Collection[str], text_columns: Collection[str], with_groups: bool
    ) -> Iterator[DataTable]:
        names = [name for name in self.columns if name in column_names] or [self.columns[0]]
        with open_locked_database(self._path, self._limits, self._deadline) as database:
            with_text = [name in text_columns for name in names]
            load = self._load_parquet if self._form is DataFormat.PARQUET else self._load_rows
            is_integer, groups = load(database, names, with_text, with_groups)
            (rows,) = database.fetch_row("SELECT count(*) FROM cells")
            self._check_rows(rows)
            if rows == 0:
                raise DataError("no_rows", "there is no row below the header")
            columns = {name: DataColumn(index, is_integer[index]) for index, name in enumerate(names)}
            yield DataTable(database, columns, rows, groups)

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
        path = resolve_checked_path(self.file, self._limits)
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
            batches = text_rows.read_json_row_batches(self._path, columns, self._limits)
        else:
            batches = text_rows.read_row_batches(self._path, self._form, len(columns), self._limits)
        indexes, group_indexes = ([columns.index(name) for name in each] for each in (names, encoder.names))
        rows = 0
        for batch in batches:
            rows += len(batch[0])
            self._check_rows(rows)
            joined = (cells.SEPARATOR.join(batch[index]) for index in indexes)
            database.fetch_rows(insert, [*joined, *encoder.encode([batch[index] for index in group_indexes])])
        return is_integer, encoder.build_columns()

    def _load_parquet(
        self, database: LockedDatabase, names: Sequence[str], with_text: Sequence[bool], with_groups: bool
    ) -> _Loaded:
        every, types = parquet.read_parquet_schema(database, self._path, self._limits)
        indexes = [every.index(name) for name in names]
        is_integer = [types[index] in parquet.INTEGER_TYPES for index in indexes]
        try:
            groups = parquet_groups.find_group_columns(database, self._path, types) if with_groups else []
            texts = [parquet_groups.group_text_sql(each.index, types) for each in groups]
            database.fetch_rows(create_cells_table_sql(is_integer, len(groups)))
            insert = parquet.insert_parquet_cells_sql(types, indexes, with_text, self._limits.max_rows + 1, texts)
            database.fetch_rows(insert, [*(list(each.texts) for each in groups), self._path])
        except duckdb.Error as error:
            raise parquet.as_unreadable_parquet_error(error) from None
        return is_integer, {every[each.index]: GroupColumn(at, each.values) for at, each in enumerate(groups)}

    def _check_rows(self, rows: int) -> None:
        if rows > self._limits.max_rows:
            raise DataError("too_many_rows", f"more than {self._limits.max_rows} rows: give fewer")
