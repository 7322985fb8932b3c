"""A deep mutational scan of two conditions, whose scores may not be mixed."""

import random

ROWS = 709
MEANS = {"A": -0.714, "B": 23.6}
MIXED_MEAN = 11.44
"""Mean over both conditions, as an agent rounds it."""


def scores(condition: str, rows: int = ROWS) -> list[float]:
    """Return scores with exactly the mean of the condition, up to rounding."""
    dice = random.Random(condition)
    spread = 0.5 if condition == "A" else 4.0
    drawn = [dice.gauss(0, spread) for _ in range(rows)]
    centre = sum(drawn) / rows
    return [MEANS[condition] + each - centre for each in drawn]


def csv_of(*conditions: str, column: str = "condition") -> str:
    """Return a table of mutants, conditions and scores."""
    rows = [f"M{at}A,{name},{score!r}" for name in conditions for at, score in enumerate(scores(name))]
    return "\n".join([f"mutant,{column},mut_score", *rows, ""])


TWO = csv_of("A", "B")
ONE = csv_of("A")
