"""Works with science on the bench: what they demand, and the candidates that claim something."""

from typing import Any

from aex_models.science import ScienceResult
from aex_verification.rules.records import AttemptRow
from tests.parts.verification import VerificationBench
from tests.services.verification.flow import grade

DMS = "bioinformatics/DMS"
SECRET = "canary: what is expected"
MEAN = {"name": "mean_fitness", "stat": "mean", "column": "mut_score"}
TABLE = "mutant,mut_score\nA1C,-0.3\nA1D,-0.5\nA1E,-0.4\n"
"""With a mean of -0.4."""
REVIEWED = ["value_ranges", "recompute_statistics", "peer_review"]


def science(**changes: Any) -> dict[str, Any]:
    return {"question": "How fit?", "expected_outcome": SECRET, "statistics": [MEAN], **changes}


def table(content: str = TABLE, name: str = "scores.csv") -> dict[str, Any]:
    return {"name": name, "media_type": "text/csv", "content": content}


async def claim(
    bench: VerificationBench, values: dict[str, Any], *artifacts: dict[str, Any], **more: Any
) -> AttemptRow:
    return await grade(bench, "a b c", claimed_values=values, artifacts=list(artifacts), **more)


def concluded(row: AttemptRow) -> ScienceResult:
    assert row.result is not None
    assert row.result.science is not None
    return row.result.science
