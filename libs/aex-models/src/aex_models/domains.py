"""Scientific domains as data. Each registry file describes one: ranges, sanity checks, statistics."""

from typing import Annotated

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from aex_models.frozen import Frozen, LongText, ShortText, StrictBool
from aex_models.statistics import ColumnName, Filter, Statistic, StatisticName

DomainName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._/-]+$")]


class ValueRange(Frozen):
    """The permitted range of a quantity, both ends included. A missing end means no bound."""

    min: float | None = None
    """Least possible value."""
    max: float | None = None
    """Greatest possible value."""
    unit: str = ""
    """Unit of the values, for readers."""
    typical_mean: float | None = None
    """Usual mean, for readers and reviewers; it decides nothing."""
    typical_std: Annotated[float, Field(gt=0)] | None = None
    """Usual standard deviation, for readers and reviewers; it decides nothing."""
    aliases: tuple[StatisticName, ...] = ()
    """Other names of the quantity that occur in names of claims, such as `fitness` in `mean_fitness`."""

    @model_validator(mode="after")
    def _check_order(self) -> "ValueRange":
        if self.min is not None and self.max is not None and self.min > self.max:
            raise PydanticCustomError("invalid_range", "min is above max")
        return self


class Recipe(Frozen):
    """A statistic that is computed for works of the domain which name no statistics themselves."""

    name: StatisticName
    """Name of the claim to compare with."""
    stat: Statistic
    """Kind of statistic."""
    q: Annotated[float, Field(ge=0, le=1)] | None = None
    """Probability of `quantile`, from 0 to 1."""
    column: ColumnName | None = None
    """Column of the statistic. Unset: the score column, the first of `common_columns` that the file has."""


class SanityCheck(Frozen):
    """A check that a statistic of the score column lies within bounds.

    A failed check is a violation if the work demands the check, otherwise only a finding.
    """

    name: StatisticName
    """Name by which `science.checks` demands the check."""
    description: ShortText
    """Property of sound data, in one sentence."""
    stat: Statistic
    """Kind of statistic."""
    q: Annotated[float, Field(ge=0, le=1)] | None = None
    """Probability of `quantile`, from 0 to 1."""
    where: tuple[Filter, ...] = ()
    """Filters of rows; `column` is `@score` for the score column."""
    abs: StrictBool = False
    """True if the bounds apply to the absolute value."""
    min: float | None = None
    """Least value in sound data."""
    max: float | None = None
    """Greatest value in sound data."""


class Domain(Frozen):
    """A scientific domain of the registry: its value ranges, columns, sanity checks and statistics."""

    name: DomainName
    """Name by which works refer to the domain, such as `chemistry/absorption`."""
    aliases: tuple[DomainName, ...] = ()
    """Other names of the domain."""
    description: LongText
    """Subject of the domain, in a sentence or two."""
    value_ranges: dict[StatisticName, ValueRange] = {}
    """Quantity → its range."""
    common_columns: tuple[ColumnName, ...] = ()
    """Possible names of the score column. The first one that a file has is used."""
    common_issues: tuple[ShortText, ...] = ()
    """Usual mistakes, for reviewers."""
    sanity_checks: tuple[SanityCheck, ...] = ()
    """Bounds on statistics of the score column in sound data."""
    keywords: tuple[ShortText, ...] = ()
    """Words and phrases that indicate the domain."""
    statistics: tuple[Recipe, ...] = ()
    """Statistics that are recomputed where a work names none."""


class DomainGuess(Frozen):
    """The inferred domain of a text and column names.

    `domain` is None if no domain matches, or if several match equally well.
    """

    domain: DomainName | None
    scores: dict[DomainName, float] = {}
    """Scores of all domains that match at all."""
