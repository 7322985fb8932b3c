"""File of an examination: its columns, and its rows on demand."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import duckdb

from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.source_files import MEDIA_TYPES, DataFormat, SourceFile, foreign_charset, format_of
from aex_outcomes.science.tables import cells, parquet, text_rows
from aex_outcomes.science.tables.cells import DataColumn, DataTable, create_sql
from aex_outcomes.science.tables.database import Deadline, LockedDatabase, locked_database
from aex_outcomes.science.tables.file_checks import DataError, check_file, memory_error, quote_name

_GLOB = frozenset("*?[")


class OpenedFile:
    """File of raw data. Every method may raise `DataError`; columns are read once, rows by each `table`."""

    def __init__(self, file: SourceFile, limits: DataLimits, deadline: Deadline) -> None:
        self.file = file
        self._limits = limits
        self._deadline = deadline
        self.error: DataError | None = None
        """Error of the complete file, once known."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns, from the file's own header."""
        if self.error is not None:
            raise self.error
        try:
            with self._deadline.running():
                self._deadline.check()
                form, path = self._form, self._path
                if form is DataFormat.JSON_LINES:
                    return text_rows.keys_of(path, self._limits)
                if form is not DataFormat.PARQUET:
                    return text_rows.header_of(path, form, self._limits)
                with locked_database(path, self._limits, self._deadline) as database:
                    return parquet.read_schema(database, path, self._limits)[0]
        except (DataError, MemoryError) as error:
            self.error = error if isinstance(error, DataError) else memory_error()
            raise self.error from None

    @contextmanager
    def table(self, requested: Collection[str], texts: Collection[str]) -> Iterator[DataTable]:
        """Provide the rows of these columns for the duration of the block; `texts` keep their texts."""
        names = [name for name in self.columns if name in requested] or [self.columns[0]]
        with self._deadline.running(), locked_database(self._path, self._limits, self._deadline) as database:
            with_text = [name in texts for name in names]
            is_integer = self._load_rows(database, names, with_text)
            (rows,) = database.row("SELECT count(*) FROM cells")
            self._check_rows(rows)
            if rows == 0:
                raise DataError("no_rows", "there is no row below the header")
            yield DataTable(database, {name: DataColumn(index, is_integer[index]) for index, name in enumerate(names)})

    @cached_property
    def _form(self) -> DataFormat:
        form = format_of(self.file)
        if form is None:
            raise DataError("unsupported_media_type", f"the media type is none that is read: {', '.join(MEDIA_TYPES)}")
        charset = foreign_charset(self.file)
        if charset is not None:
            raise DataError("not_utf8", f"the media type says charset {quote_name(charset)}: save the file as UTF-8")
        return form

    @cached_property
    def _path(self) -> str:
        path = check_file(self.file, self._limits)
        if _GLOB & set(path):
            raise DataError("artifact_missing", "a path with *, ? or [ in it is not opened: rename the file")
        return path

    def _load_rows(self, database: LockedDatabase, names: Sequence[str], with_text: Sequence[bool]) -> list[bool]:
        """Load the rows into `cells`; return which columns hold integers."""
        if self._form is DataFormat.PARQUET:
            return self._load_parquet(database, names, with_text)
        is_integer = [False] * len(names)
        database.rows(create_sql(is_integer))
        marked = self._form is DataFormat.JSON_LINES
        insert = cells.insert_sql(with_text, marked=marked)
        indexes = [self.columns.index(name) for name in names]
        if marked:
            batches = text_rows.json_batches_of(self._path, names, self._limits)
            indexes = list(range(len(names)))
        else:
            batches = text_rows.batches_of(self._path, self._form, len(self.columns), self._limits)
        rows = 0
        for batch in batches:
            rows += len(batch[0])
            self._check_rows(rows)
            database.rows(insert, [cells.SEPARATOR.join(batch[index]) for index in indexes])
        return is_integer

    def _load_parquet(self, database: LockedDatabase, names: Sequence[str], with_text: Sequence[bool]) -> list[bool]:
        every, kinds = parquet.read_schema(database, self._path, self._limits)
        indexes = [every.index(name) for name in names]
        is_integer = [kinds[index] in parquet.INTEGER_TYPES for index in indexes]
        database.rows(create_sql(is_integer))
        try:
            database.rows(parquet.insert_sql(kinds, indexes, with_text, self._limits.max_rows + 1), [self._path])
        except duckdb.Error as error:
            raise parquet.unreadable_file_error(error) from None
        return is_integer

    def _check_rows(self, rows: int) -> None:
        if rows > self._limits.max_rows:
            raise DataError("too_many_rows", f"more than {self._limits.max_rows} rows: give fewer")
