"""A deep mutational scan of six mutations, and what may be claimed of it."""

from statistics import fmean
from typing import Any

SCORES = (-1.61, 0.22, -0.94, 0.31, -0.57, 0.25)
MEAN = fmean(SCORES)
"""About -0.39."""
FORGED_SCORES = (11.2, 11.14, 11.17)


def csv_of(*scores: float) -> str:
    rows = [f"A{position}V,{score}" for position, score in enumerate(scores, start=1)]
    return "\n".join(["mutation,mut_score", *rows, ""])


CSV, FORGED = csv_of(*SCORES), csv_of(*FORGED_SCORES)
DOMAIN = "bioinformatics/DMS"
MEAN_SPEC = {"name": "mean_fitness", "stat": "mean", "column": "mut_score"}


def science(**more: Any) -> dict[str, Any]:
    return {"domain": DOMAIN, "statistics": [MEAN_SPEC], **more}


def artifact(content: str = CSV, name: str = "scores.csv", **more: Any) -> dict[str, Any]:
    return {"name": name, "media_type": "text/csv", "content": content, **more}
