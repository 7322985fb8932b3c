"""Scientific domains as data: the ranges, checks and statistics of one registry file each."""

from typing import Annotated

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from aex_models.frozen import Frozen, LongText, ShortText, StrictBool
from aex_models.statistics import ColumnName, Filter, Statistic, StatisticName

DomainName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._/-]+$")]


class ValueRange(Frozen):
    """The range of a quantity, both ends included. Without an end it is unbounded there."""

    min: float | None = None
    max: float | None = None
    unit: str = ""
    typical_mean: float | None = None
    typical_std: Annotated[float, Field(gt=0)] | None = None
    aliases: tuple[StatisticName, ...] = ()
    """Other names of the quantity, as they stand in claims: `fitness` in `mean_fitness`."""

    @model_validator(mode="after")
    def _check_order(self) -> "ValueRange":
        if self.min is not None and self.max is not None and self.min > self.max:
            raise PydanticCustomError("invalid_range", "min is above max")
        return self


class Recipe(Frozen):
    """A statistic of the domain's score column, computed where a work names none of its own."""

    name: StatisticName
    stat: Statistic
    q: Annotated[float, Field(ge=0, le=1)] | None = None
    column: ColumnName | None = None
    """Unset: the score column, the first of `common_columns` that the file has."""


class SanityCheck(Frozen):
    """A statistic of the score column with its bounds; a violation is a finding unless required."""

    name: StatisticName
    description: ShortText
    stat: Statistic
    q: Annotated[float, Field(ge=0, le=1)] | None = None
    where: tuple[Filter, ...] = ()
    """Filters of rows; `column` is `@score` for the score column."""
    abs: StrictBool = False
    """True if the bounds apply to the absolute value."""
    min: float | None = None
    max: float | None = None


class Domain(Frozen):
    """A domain of the registry."""

    name: DomainName
    aliases: tuple[DomainName, ...] = ()
    description: LongText
    value_ranges: dict[StatisticName, ValueRange] = {}
    common_columns: tuple[ColumnName, ...] = ()
    """Names that the score column has; the first that a file has counts."""
    common_issues: tuple[ShortText, ...] = ()
    sanity_checks: tuple[SanityCheck, ...] = ()
    keywords: tuple[ShortText, ...] = ()
    """Words and phrases that tell of the domain."""
    statistics: tuple[Recipe, ...] = ()


class DomainGuess(Frozen):
    """The domain of a text and its columns; None for no match or several equal ones."""

    domain: DomainName | None
    scores: dict[DomainName, float] = {}
    """Scores of the domains with any evidence."""
