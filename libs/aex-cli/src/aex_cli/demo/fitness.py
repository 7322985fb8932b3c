"""Work 3: the mean fitness of a deep mutational scan. The measurements are the consumer's, and the work's input."""

import csv
import io
import random
from decimal import Decimal
from statistics import fmean

from aex_models.work import WorkSubmission

DOMAIN = "bioinformatics/DMS"
ABSURD = Decimal("11.17")
"""What the plot of an agent once said, while the data behind it said about -0.4. The domain ends at 2."""
_MUTANTS = 400


def measured() -> list[float]:
    """A score for each mutant, the same in every demo: most mutations cost fitness, a few cost much."""
    dice = random.Random(5)  # noqa: S311 no secret
    return [round(max(-4.9, min(1.9, dice.gauss(-0.4, 0.7))), 3) for _ in range(_MUTANTS)]


def as_csv(scores: list[float]) -> bytes:
    """The table that the consumer uploads."""
    rows = (f"M{place}A,{score}" for place, score in enumerate(scores, start=1))
    return "\n".join(["mutant,mut_score", *rows, ""]).encode()


def scores_of(table: str) -> list[float]:
    """The column of scores, as an agent reads it."""
    return [float(row["mut_score"]) for row in csv.DictReader(io.StringIO(table))]


def honest_mean(scores: list[float]) -> Decimal:
    """What the data say, as an agent reports it: with two decimals."""
    return Decimal(f"{fmean(scores):.2f}")


def fitness_work(digest: str, table: str) -> WorkSubmission:
    """The work as its consumer submits it: the claim has to be possible, and to be what its own data say."""
    return WorkSubmission.model_validate(
        {
            "title": "Mean fitness of a deep mutational scan",
            "domain": DOMAIN,
            "input": {"table": table},
            "science": {
                "question": "How do single mutations change fitness on average?",
                "statistics": [{"name": "mean_fitness", "stat": "mean", "column": "mut_score"}],
                "data": [{"name": "scores.csv", "sha256": digest}],
            },
            "success_criteria": {"criteria": _CRITERIA},
            "budget": {"max_cpc": "0.40", "max_cpa_total": "0.30", "max_penalty_total": "0.10"},
            "verification": {"max_attempts": 2},
        }
    )


_CRITERIA = (
    {"metric": "values_plausible", "metric_type": "boolean", "comparison": "eq", "threshold": True, "penalty": "0.05"},
    {
        "metric": "values_consistent",
        "metric_type": "boolean",
        "comparison": "eq",
        "threshold": True,
        "bonus": "0.30",
        "penalty": "0.05",
    },
)
