"""File of raw data in an examination: reads its column names and loads its rows on demand."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
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
from aex_outcomes.science.tables import cells, parquet, text_rows
from aex_outcomes.science.tables.cells import DataColumn, DataTable, create_cells_table_sql
from aex_outcomes.science.tables.database import Deadline, LockedDatabase, open_locked_database
from aex_outcomes.science.tables.file_checks import (
    DataError,
    out_of_memory_error,
    quote_name_for_message,
    resolve_checked_path,
)

_GLOB = frozenset("*?[")


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
    def load_table(self, requested: Collection[str], texts: Collection[str]) -> Iterator[DataTable]:
        """Load the requested columns into a database table, which exists until the end of the block.

        `texts`: names of the columns whose texts are stored beside their numbers. Names that the file lacks are
        ignored; without any other name its first column is loaded, so that rows can be counted. Raises `DataError`,
        also for a file without rows.
        """
        names = [name for name in self.columns if name in requested] or [self.columns[0]]
        with self._deadline.count_time(), open_locked_database(self._path, self._limits, self._deadline) as database:
            with_text = [name in texts for name in names]
            is_integer = self._load_rows(database, names, with_text)
            (rows,) = database.fetch_row("SELECT count(*) FROM cells")
            self._check_rows(rows)
            if rows == 0:
                raise DataError("no_rows", "there is no row below the header")
            yield DataTable(database, {name: DataColumn(index, is_integer[index]) for index, name in enumerate(names)})

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

    def _load_rows(self, database: LockedDatabase, names: Sequence[str], with_text: Sequence[bool]) -> list[bool]:
        """Load the rows into the table `cells`; return for each column whether it holds integers."""
        if self._form is DataFormat.PARQUET:
            return self._load_parquet(database, names, with_text)
        is_integer = [False] * len(names)
        database.fetch_rows(create_cells_table_sql(is_integer))
        has_marks = self._form is DataFormat.JSON_LINES
        insert = cells.insert_cells_sql(with_text, has_marks=has_marks)
        indexes = [self.columns.index(name) for name in names]
        if has_marks:
            batches = text_rows.read_json_row_batches(self._path, names, self._limits)
            indexes = list(range(len(names)))
        else:
            batches = text_rows.read_row_batches(self._path, self._form, len(self.columns), self._limits)
        rows = 0
        for batch in batches:
            rows += len(batch[0])
            self._check_rows(rows)
            database.fetch_rows(insert, [cells.SEPARATOR.join(batch[index]) for index in indexes])
        return is_integer

    def _load_parquet(self, database: LockedDatabase, names: Sequence[str], with_text: Sequence[bool]) -> list[bool]:
        every, kinds = parquet.read_parquet_schema(database, self._path, self._limits)
        indexes = [every.index(name) for name in names]
        is_integer = [kinds[index] in parquet.INTEGER_TYPES for index in indexes]
        database.fetch_rows(create_cells_table_sql(is_integer))
        try:
            database.fetch_rows(
                parquet.insert_parquet_cells_sql(kinds, indexes, with_text, self._limits.max_rows + 1), [self._path]
            )
        except duckdb.Error as error:
            raise parquet.as_unreadable_parquet_error(error) from None
        return is_integer

    def _check_rows(self, rows: int) -> None:
        if rows > self._limits.max_rows:
            raise DataError("too_many_rows", f"more than {self._limits.max_rows} rows: give fewer")
