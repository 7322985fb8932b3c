"""Tables that a work makes of raw data before statistics are computed: derived columns and joins."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from aex_models.expressions import MAX_CHARACTERS, InvalidExpression, find_column_names, parse_expression
from aex_models.frozen import Frozen
from aex_models.statistics import ColumnName

MAX_DERIVED, MAX_JOINS, MAX_KEYS = 20, 5, 10

TableName = Annotated[str, Field(min_length=1, max_length=200)]
"""The name of a file of raw data, or of a join."""


def _check_expression(text: str) -> str:
    try:
        parse_expression(text)
    except InvalidExpression as error:
        raise PydanticCustomError("invalid_expression", "{message}", {"message": str(error)}) from None
    return text


class DerivedColumn(Frozen):
    """A column computed from others of its row. It is missing where the result is not finite."""

    artifact: TableName | None = None
    """The file or join that gets the column. Unset: every file with the columns of the expression, but no join."""
    column: ColumnName
    """Name, which hides a column of that name in the file itself."""
    expression: Annotated[str, Field(min_length=1, max_length=MAX_CHARACTERS), AfterValidator(_check_expression)]
    """Numbers, columns (`x` or `col("odd name")`), `+ - * /`, log, log2, log10, exp, sqrt, abs, min and max."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that the expression reads: columns of the file, or columns derived earlier."""
        return find_column_names(parse_expression(self.expression))


class JoinKind(StrEnum):
    """The rows that a join has."""

    INNER = "inner"
    """Rows of the left file that match a row of the right one."""
    LEFT = "left"
    """Every row of the left file. Where no row of the right one matches, the right one's columns are missing."""


class Join(Frozen):
    """A table that joins two files. The join's name may be used like the name of a file."""

    name: TableName
    """Name by which statistics, derived columns and later joins refer to the join."""
    left: TableName
    """A file, or a join above this one in the list."""
    right: TableName
    """A file, or a join above this one in the list. No two of its rows have the same keys."""
    on: Annotated[tuple[ColumnName, ...], Field(min_length=1, max_length=MAX_KEYS)]
    """Keys: columns of both files that agree in matching rows. A missing key matches nothing."""
    how: JoinKind = JoinKind.INNER
    """Rows that the join has."""

    @model_validator(mode="after")
    def _check_names(self) -> "Join":
        if len(set(self.on)) < len(self.on):
            raise PydanticCustomError("duplicate_name", "A column stands twice in `on`: leave one out")
        if self.name in (self.left, self.right):
            raise PydanticCustomError("invalid_join", "A join cannot read itself: give it another name")
        return self
