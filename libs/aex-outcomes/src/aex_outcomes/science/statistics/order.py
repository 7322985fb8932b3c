"""What depends on the values' order alone: quantiles and ranks."""

# ruff: noqa: S608 SQL is put together from this package's own words; names and values go as parameters

import math
from dataclasses import replace
from fractions import Fraction

from aex_outcomes.science.statistics.picked import Values
from aex_outcomes.science.statistics.sums import as_double


def quantile(values: Values, q: float) -> float:
    """Linear between the two nearest values, as numpy's default (Hyndman & Fan 1996, number 7)."""
    place = (values.count - 1) * q
    below = math.floor(place)
    sql = f"SELECT {values.name} FROM {values.table} ORDER BY 1 LIMIT 2 OFFSET {below}"
    found = [Fraction(each) for (each,) in values.database.rows(sql)]
    return as_double(found[0] + (found[-1] - found[0]) * Fraction(place - below))


def ranked(x: Values, y: Values) -> tuple[Values, Values]:
    """The ranks of two columns, from 1; equal values share the average of theirs."""
    x.database.rows("DROP TABLE IF EXISTS ranked")
    x.database.rows(f"CREATE TABLE ranked AS SELECT {_ranks('x')} AS x, {_ranks('y')} AS y FROM {x.table}")
    found = []
    for each in (x, y):
        least, greatest = x.database.row(f"SELECT min({each.name}), max({each.name}) FROM ranked")
        found.append(replace(each, whole=False, least=least, greatest=greatest, table="ranked"))
    return found[0], found[1]


def _ranks(name: str) -> str:
    alike = f"count(*) OVER (PARTITION BY {name})"
    return f"(CAST(rank() OVER (ORDER BY {name}) AS DOUBLE) + ({alike} - 1) / 2.0::DOUBLE)"
