"""Specifications of statistics that the platform recomputes from raw data: columns, filters and files."""

import re
from contextlib import suppress
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from aex_models.frozen import Frozen, StrictBool, StrictFloat
from aex_models.numbers import is_finite_number

StatisticName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$")]
"""The name of a recomputed value. Its metric is `stat.NAME`, and the claim to compare is `NAME`."""


def _printable(name: str) -> str:
    if not name.isprintable():
        raise PydanticCustomError("invalid_name", "Expected 1 to 300 printable characters")
    return name


ClaimName = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_printable)]
"""The name of a claimed value, or of a statistic to compare it with. A metric's name allows fewer characters."""

ColumnName = Annotated[str, Field(min_length=1, max_length=300)]

MAX_FILTERS = 20
MAX_LISTED = 1_000


class Statistic(StrEnum):
    """A kind of statistic: of one column, of two columns, or of two groups of rows."""

    MEAN = "mean"
    """Arithmetic mean."""
    STD = "std"
    """Standard deviation of a sample: n − 1."""
    VAR = "var"
    """Variance of a sample: n − 1."""
    MIN = "min"
    """Least value."""
    MAX = "max"
    """Greatest value."""
    MEDIAN = "median"
    """Middle value, or the mean of the two middle ones."""
    QUANTILE = "quantile"
    """Quantile at `q`, linear between the two nearest values, as numpy's default."""
    SUM = "sum"
    """Sum of the values."""
    COUNT = "count"
    """Number of rows that match the filters; with a column, only of those with a value in it."""
    N_UNIQUE = "n_unique"
    """Number of different values."""
    PEARSON = "pearson"
    """Pearson's correlation of two columns."""
    SPEARMAN = "spearman"
    """Spearman's rank correlation of two columns."""
    SLOPE = "slope"
    """Slope of the least-squares line of the second column over the first."""
    R_SQUARED = "r_squared"
    """Share of the second column's variance that the least-squares line explains."""
    WELCH_T = "welch_t"
    """Welch's t of two groups: above 0 where the first group's mean is larger."""
    WELCH_P = "welch_p"
    """Two-sided p-value of Welch's t-test."""
    MANNWHITNEY_U = "mannwhitney_u"
    """Mann–Whitney U of the first group: pairs in which its value is larger; ties count one half."""
    MANNWHITNEY_P = "mannwhitney_p"
    """Two-sided p-value: exact without ties where a group has at most 8 values, else the normal approximation."""
    BH_COUNT = "bh_count"
    """Number of p-values whose Benjamini–Hochberg adjusted value is at most `alpha`."""
    BH_MAX_ERROR = "bh_max_error"
    """Largest difference between the second column and the first one, adjusted by Benjamini–Hochberg."""


OF_TWO_COLUMNS = frozenset(
    {Statistic.PEARSON, Statistic.SPEARMAN, Statistic.SLOPE, Statistic.R_SQUARED, Statistic.BH_MAX_ERROR}
)
OF_TWO_GROUPS = frozenset({Statistic.WELCH_T, Statistic.WELCH_P, Statistic.MANNWHITNEY_U, Statistic.MANNWHITNEY_P})
OF_SEVERAL_INPUTS = OF_TWO_COLUMNS | OF_TWO_GROUPS | {Statistic.BH_COUNT}
"""Statistics that one column alone, with `q` for a quantile, does not determine."""


class FilterOp(StrEnum):
    """The operator of a filter. The signs `>`, `>=`, `<`, `<=`, `=`, `==` and `!=` are also accepted."""

    GT = "gt"
    """Keeps cells above the value."""
    GTE = "gte"
    """Keeps cells of at least the value."""
    LT = "lt"
    """Keeps cells below the value."""
    LTE = "lte"
    """Keeps cells of at most the value."""
    EQ = "eq"
    """Keeps cells equal to the value."""
    NEQ = "neq"
    """Keeps cells with any other value."""
    IN = "in"
    """Keeps cells equal to one value of the list."""


MISSING_WORDS = ("", "NA", "N/A", "null", "NULL", "None")
"""Texts that mean a missing value."""
BLANKS = " \t"
"""Characters to strip around a cell."""

_SIGNS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte", "=": "eq", "==": "eq", "!=": "neq", "<>": "neq"}
_TEXT_OPERATORS = frozenset({FilterOp.EQ, FilterOp.NEQ, FilterOp.IN})
_QUANTILE = re.compile(r"quantile\(\s*([0-9.eE+-]{1,30})\s*\)")
_EVERY_OP = f"{', '.join(each for each in _SIGNS if each != '==')} or in ({', '.join(FilterOp)})"


def _parse_operator(value: Any) -> Any:
    operator = _SIGNS.get(value, value) if isinstance(value, str) else value
    if operator not in list(FilterOp):
        raise PydanticCustomError("enum", "Expected one of {ops}", {"ops": _EVERY_OP})
    return operator


class Filter(Frozen):
    """A condition on a column's cell, which selects rows. A missing value meets no condition."""

    column: ColumnName
    """Column of the cell."""
    op: Annotated[FilterOp, BeforeValidator(_parse_operator)]
    """Comparison of the cell with `value`."""
    value: Any
    """A number, a text (for eq, neq and in) or a boolean; a list of numbers or texts for in."""
    abs: StrictBool = False
    """True if the cell's absolute value is compared."""

    @model_validator(mode="after")
    def _check_comparable(self) -> "Filter":
        listed = self.value if self.op is FilterOp.IN else [self.value]
        if not isinstance(listed, list | tuple) or not 0 < len(listed) <= MAX_LISTED:
            raise PydanticCustomError("invalid_filter", "`in` takes a list of 1 to 1,000 values")
        numbers, texts = all(map(is_finite_number, listed)), all(isinstance(each, str | bool) for each in listed)
        if not numbers and not texts:
            raise PydanticCustomError("invalid_filter", "Expected a finite number, a text or a boolean")
        if not numbers and (self.abs or self.op not in _TEXT_OPERATORS):
            raise PydanticCustomError("invalid_filter", "Only numbers can be compared by size")
        for each in listed:
            self._check_text(each)
        return self

    def _check_text(self, value: Any) -> None:
        """Refuse a text that no cell can hold, because the condition would select unexpected rows."""
        if not isinstance(value, str):
            return
        if value != value.strip(BLANKS):
            raise PydanticCustomError("invalid_filter", "Cells are read without blanks around them: leave them out")
        if value in MISSING_WORDS and self.op is not FilterOp.NEQ:
            message = "Empty cells, NA, N/A, null, NULL and None are missing values, which meet no condition"
            raise PydanticCustomError("invalid_filter", message)


Group = Annotated[tuple[Filter, ...], Field(min_length=1, max_length=MAX_FILTERS)]
"""The filters that a row of the group matches."""


class StatisticSpec(Frozen):
    """A statistic to recompute from raw data: its columns, its filters of rows and its file."""

    name: StatisticName
    """Name of the claim to compare with, and of the metric `stat.NAME`."""
    stat: Statistic
    """Kind of statistic."""
    column: ColumnName | None = None
    """Column of a statistic of one column; optional for `count`."""
    columns: Annotated[tuple[ColumnName, ...], Field(max_length=2)] = ()
    """Columns of a statistic of two columns: x, then y. For `bh_max_error`: p-values, then adjusted p-values."""
    q: Annotated[StrictFloat, Field(ge=0, le=1)] | None = None
    """Probability of `quantile`, from 0 to 1."""
    groups: Annotated[tuple[Group, ...], Field(max_length=2)] = ()
    """Filters of the two groups of a test, beside `where`."""
    alternative: Literal["two-sided"] | None = None
    """Alternative hypothesis of a test; unset: two-sided."""
    alpha: Annotated[StrictFloat, Field(gt=0, le=1)] | None = None
    """Largest adjusted value that `bh_count` counts."""
    where: Annotated[tuple[Filter, ...], Field(max_length=MAX_FILTERS)] = ()
    """Filters of rows. A row has to match all of them."""
    artifact: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Name of the file; None means the first file that has the columns, the consumer's before the agent's."""
    tolerance: Annotated[StrictFloat, Field(ge=0, le=1)] = 0.01
    """Largest relative error at which a claim still matches."""

    @model_validator(mode="before")
    @classmethod
    def _normalise(cls, raw: Any) -> Any:
        """Accept other spellings: `quantile(0.9)`, one column in `columns`, two columns in `column`."""
        if not isinstance(raw, dict):
            return raw
        normalised = dict(raw)
        stat, column, columns = normalised.get("stat"), normalised.get("column"), normalised.get("columns")
        found = _QUANTILE.fullmatch(stat) if isinstance(stat, str) else None
        if found and normalised.get("q") is None:
            normalised |= {"stat": "quantile", "q": found[1]}
            with suppress(ValueError):  # validation refuses other texts
                normalised["q"] = float(found[1])
        if isinstance(column, list | tuple) and not columns:
            normalised |= {"column": None, "columns": column}
        columns = normalised.get("columns")
        if isinstance(columns, list | tuple) and len(columns) == 1 and normalised.get("column") is None:
            normalised |= {"column": columns[0], "columns": ()}
        return normalised

    @model_validator(mode="after")
    def _complete(self) -> "StatisticSpec":
        if self.stat in OF_TWO_COLUMNS:
            fits = len(self.columns) == 2 and self.column is None
            message = "{stat} takes two columns: give them as `columns`"
        else:
            fits = not self.columns and (self.column is not None or self.stat is Statistic.COUNT)
            message = "{stat} takes one column: give it as `column`"
        if not fits:
            raise PydanticCustomError("invalid_statistic", message, {"stat": self.stat.value})
        for given, takers, message in (
            (self.q is not None, {Statistic.QUANTILE}, "quantile, and it alone, takes q from 0 to 1"),
            (self.alpha is not None, {Statistic.BH_COUNT}, "bh_count, and it alone, takes alpha above 0 and up to 1"),
            (bool(self.groups), OF_TWO_GROUPS, "A test, and it alone, takes groups: two lists of filters"),
        ):
            if given != (self.stat in takers):
                raise PydanticCustomError("invalid_statistic", message)
        if self.groups and (len(self.groups) < 2 or self.groups[0] == self.groups[1]):
            raise PydanticCustomError("invalid_statistic", "Give two groups, each with filters of its own")
        if self.alternative and self.stat not in OF_TWO_GROUPS:
            raise PydanticCustomError("invalid_statistic", "Only tests of two groups take alternative")
        return self

    @property
    def filters(self) -> tuple[Filter, ...]:
        """The filters of rows and of groups."""
        return (*self.where, *(each for group in self.groups for each in group))

    @property
    def needed_columns(self) -> tuple[str, ...]:
        """Return the columns that the statistic and its filters read, each once."""
        read = (*((self.column,) if self.column else ()), *self.columns, *(each.column for each in self.filters))
        return tuple(dict.fromkeys(read))


class DerivedSpec(StatisticSpec):
    """A statistic that the work does not list. It is named after a claim or a column."""

    name: ClaimName
    """Name of the claim to compare with."""
