"""A file as an examination sees it: its columns first, its rows once somebody needs them."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import duckdb

from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.source import Format, SourceFile, foreign_charset, format_of
from aex_outcomes.science.tables import cells, delimited, json_lines, parquet
from aex_outcomes.science.tables.bytes_of_file import real_path
from aex_outcomes.science.tables.database import Database, Deadline, locked_database
from aex_outcomes.science.tables.errors import DataError, out_of_memory, quoted
from aex_outcomes.science.tables.table import Column, Table, creation

_GLOB = frozenset("*?[")
_READ_AS = "text/csv, text/tab-separated-values, application/jsonl, application/vnd.apache.parquet"


class OpenedFile:
    """One file. Everything may raise `DataError`; columns are looked up once, rows at every `table`."""

    def __init__(self, file: SourceFile, limits: DataLimits, deadline: Deadline) -> None:
        self.file = file
        self._limits = limits
        self._deadline = deadline
        self.failed: DataError | None = None
        """Why the file as a whole could not be read, once that is known."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, from the file's own head."""
        if self.failed is not None:
            raise self.failed
        try:
            with self._deadline.running():
                return self._looked_up()
        except (DataError, MemoryError) as error:
            self.failed = error if isinstance(error, DataError) else out_of_memory()
            raise self.failed from None

    def _looked_up(self) -> tuple[str, ...]:
        self._deadline.check()
        form, path = self._form, self._path
        if form is Format.PARQUET:
            with locked_database(path, self._limits, self._deadline) as database:
                return parquet.described(database, path, self._limits)[0]
        if form is Format.JSON_LINES:
            return json_lines.keys_of(path, self._limits)
        return delimited.header_of(path, form, self._limits)

    @contextmanager
    def table(self, wanted: Collection[str], texts: Collection[str]) -> Iterator[Table]:
        """The rows of the columns that are wanted, `texts` with their texts, for as long as the block lasts."""
        names = [name for name in self.columns if name in wanted] or [self.columns[0]]
        with self._deadline.running(), locked_database(self._path, self._limits, self._deadline) as database:
            with_text = [name in texts for name in names]
            whole = self._filled(database, names, with_text)
            (rows,) = database.row("SELECT count(*) FROM cells")
            self._check_rows(rows)
            if rows == 0:
                raise DataError("no_rows", "there is no row below the header")
            yield Table(database, {name: Column(place, whole[place]) for place, name in enumerate(names)}, rows)

    @cached_property
    def _form(self) -> Format:
        form = format_of(self.file)
        if form is None:
            raise DataError("unsupported_media_type", f"the media type is none that is read: {_READ_AS}")
        charset = foreign_charset(self.file)
        if charset is not None:
            raise DataError("not_utf8", f"the media type says charset {quoted(charset)}: save the file as UTF-8")
        return form

    @cached_property
    def _path(self) -> str:
        path = real_path(self.file, self._limits)
        if _GLOB & set(path):
            raise DataError("artifact_missing", "a path with *, ? or [ in it is not opened: rename the file")
        return path

    def _filled(self, database: Database, names: Sequence[str], with_text: Sequence[bool]) -> list[bool]:
        """Reads the rows into `cells`; returns which columns are whole."""
        if self._form is Format.PARQUET:
            return self._unfolded(database, names, with_text)
        whole = [False] * len(names)
        database.rows(creation(whole))
        marked = self._form is Format.JSON_LINES
        insert = cells.insertion(with_text, marked=marked)
        places = [self.columns.index(name) for name in names]
        if marked:
            batches = json_lines.batches_of(self._path, names, self._limits)
            places = list(range(len(names)))
        else:
            batches = delimited.batches_of(self._path, self._form, len(self.columns), self._limits)
        rows = 0
        for batch in batches:
            rows += len(batch[0])
            self._check_rows(rows)
            database.rows(insert, [cells.SEPARATOR.join(batch[place]) for place in places])
        return whole

    def _unfolded(self, database: Database, names: Sequence[str], with_text: Sequence[bool]) -> list[bool]:
        every, kinds = parquet.described(database, self._path, self._limits)
        places = [every.index(name) for name in names]
        whole = [parquet.is_whole(kinds[place]) for place in places]
        database.rows(creation(whole))
        try:
            database.rows(parquet.filling(kinds, places, with_text, self._limits.max_rows + 1), [self._path])
        except duckdb.Error as error:
            raise parquet.unreadable(error) from None
        return whole

    def _check_rows(self, rows: int) -> None:
        if rows > self._limits.max_rows:
            raise DataError("too_many_rows", f"more than {self._limits.max_rows} rows: give fewer")
