"""Statistics that the platform recomputes from raw data: what is asked for, and over which rows (spec file 4)."""

import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from aex_models.frozen import Frozen, StrictBool, StrictFloat
from aex_models.numbers import is_number

StatisticName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$")]
"""Names a recomputed value: `stat.NAME` is its metric, and NAME the claim that is held against it."""


def _printable(name: str) -> str:
    if not name.isprintable():
        raise PydanticCustomError("invalid_name", "Expected 1 to 300 printable characters")
    return name


ClaimName = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_printable)]
"""Names a claimed value, and what is recomputed to be held against it: wider than what a metric may be called."""

ColumnName = Annotated[str, Field(min_length=1, max_length=300)]

MAX_FILTERS = 20
MAX_LISTED = 1_000


class Statistic(StrEnum):
    """What is computed of one column, or of two."""

    MEAN = "mean"
    STD = "std"
    """Of a sample: n − 1."""
    VAR = "var"
    MIN = "min"
    MAX = "max"
    MEDIAN = "median"
    QUANTILE = "quantile"
    """Linear between the two nearest values, as numpy's default."""
    SUM = "sum"
    COUNT = "count"
    """Rows that the filters keep; of a column: those of them in which it has a value."""
    N_UNIQUE = "n_unique"
    PEARSON = "pearson"
    SPEARMAN = "spearman"
    SLOPE = "slope"
    """Of the least-squares line of the second column over the first."""
    R_SQUARED = "r_squared"


OF_TWO_COLUMNS = frozenset({Statistic.PEARSON, Statistic.SPEARMAN, Statistic.SLOPE, Statistic.R_SQUARED})


class FilterOp(StrEnum):
    """How a cell is compared. `>`, `>=`, `<`, `<=`, `=`, `==` and `!=` are read too."""

    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    EQ = "eq"
    NEQ = "neq"
    IN = "in"


MISSING_WORDS = ("", "NA", "N/A", "null", "NULL", "None")
"""Texts that stand for a value that is not there."""
BLANKS = " \t"
"""What does not count around a cell."""

_SIGNS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte", "=": "eq", "==": "eq", "!=": "neq", "<>": "neq"}
_EITHER = frozenset({FilterOp.EQ, FilterOp.NEQ, FilterOp.IN})
_QUANTILE = re.compile(r"quantile\(\s*([0-9.eE+-]{1,30})\s*\)")


def _number(text: str) -> float | str:
    """What stands in the parentheses; the text itself, which is then refused, where that is no number."""
    try:
        return float(text)
    except ValueError:
        return text


_EVERY_OP = f"{', '.join(each for each in _SIGNS if each != '==')} or in ({', '.join(FilterOp)})"


def _worded(value: Any) -> Any:
    worded = _SIGNS.get(value, value) if isinstance(value, str) else value
    if worded not in list(FilterOp):
        raise PydanticCustomError("enum", "Expected one of {ops}", {"ops": _EVERY_OP})
    return worded


class Filter(Frozen):
    """A condition on a row. A cell without a value meets none."""

    column: ColumnName
    op: Annotated[FilterOp, BeforeValidator(_worded)]
    value: Any
    """A number, a text (for eq, neq and in) or a boolean; a list of numbers or texts for in."""
    abs: StrictBool = False
    """Whether the cell's absolute value is compared."""

    @model_validator(mode="after")
    def _comparable(self) -> "Filter":
        listed = self.value if self.op is FilterOp.IN else [self.value]
        if not isinstance(listed, list | tuple) or not 0 < len(listed) <= MAX_LISTED:
            raise PydanticCustomError("invalid_filter", "`in` takes a list of 1 to 1,000 values")
        numbers, texts = all(map(is_number, listed)), all(isinstance(each, str | bool) for each in listed)
        if not numbers and not texts:
            raise PydanticCustomError("invalid_filter", "Expected a finite number, a text or a boolean")
        if not numbers and (self.abs or self.op not in _EITHER):
            raise PydanticCustomError("invalid_filter", "Only numbers can be compared by size")
        for each in listed:
            self._check_text(each)
        return self

    def _check_text(self, value: Any) -> None:
        """Refuses a text that no cell is read as: the condition would say something else than it seems to."""
        if not isinstance(value, str):
            return
        if value != value.strip(BLANKS):
            raise PydanticCustomError("invalid_filter", "Cells are read without blanks around them: leave them out")
        if value in MISSING_WORDS and self.op is not FilterOp.NEQ:
            message = "Empty cells, NA, N/A, null, NULL and None are missing values, which meet no condition"
            raise PydanticCustomError("invalid_filter", message)


class StatisticSpec(Frozen):
    """One statistic: over which columns, of which rows, of which file."""

    name: StatisticName
    stat: Statistic
    column: ColumnName | None = None
    """Of a statistic of one column; `count` may do without."""
    columns: Annotated[tuple[ColumnName, ...], Field(max_length=2)] = ()
    """Of a statistic of two columns: x, then y."""
    q: Annotated[StrictFloat, Field(ge=0, le=1)] | None = None
    """Of `quantile`: which, from 0 to 1."""
    where: Annotated[tuple[Filter, ...], Field(max_length=MAX_FILTERS)] = ()
    """All must hold."""
    artifact: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """The name of the file; unset: the first that has the columns, the consumer's own before the agent's."""
    tolerance: Annotated[StrictFloat, Field(ge=0, le=1)] = 0.01
    """Relative error up to which a claim matches."""

    @model_validator(mode="before")
    @classmethod
    def _spelled_out(cls, raw: Any) -> Any:
        """`quantile(0.9)` is `quantile` with q = 0.9; one column may stand in `columns`, two in `column`."""
        if not isinstance(raw, dict):
            return raw
        spelled = dict(raw)
        stat, column, columns = spelled.get("stat"), spelled.get("column"), spelled.get("columns")
        found = _QUANTILE.fullmatch(stat) if isinstance(stat, str) else None
        if found and spelled.get("q") is None:
            spelled |= {"stat": "quantile", "q": _number(found[1])}
        if isinstance(column, list | tuple) and not columns:
            spelled |= {"column": None, "columns": column}
        columns = spelled.get("columns")
        if isinstance(columns, list | tuple) and len(columns) == 1 and spelled.get("column") is None:
            spelled |= {"column": columns[0], "columns": ()}
        return spelled

    @model_validator(mode="after")
    def _complete(self) -> "StatisticSpec":
        if self.stat in OF_TWO_COLUMNS:
            if len(self.columns) != 2 or self.column is not None:
                raise PydanticCustomError(
                    "invalid_statistic", "{stat} takes two columns: give them as `columns`", {"stat": self.stat.value}
                )
        elif self.columns or (self.column is None and self.stat is not Statistic.COUNT):
            raise PydanticCustomError(
                "invalid_statistic", "{stat} takes one column: give it as `column`", {"stat": self.stat.value}
            )
        if (self.q is not None) != (self.stat is Statistic.QUANTILE):
            raise PydanticCustomError("invalid_statistic", "quantile, and it alone, takes q from 0 to 1")
        return self

    @property
    def needed_columns(self) -> tuple[str, ...]:
        """Every column that it reads, each once."""
        read = (*((self.column,) if self.column else ()), *self.columns, *(each.column for each in self.where))
        return tuple(dict.fromkeys(read))


class DerivedSpec(StatisticSpec):
    """A statistic that no work asks for: named by the claim that it is held against, or by its column."""

    name: ClaimName
