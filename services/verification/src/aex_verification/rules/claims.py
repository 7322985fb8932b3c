"""How many values a candidate may claim."""

from collections.abc import Mapping
from typing import Any

from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest

MAX_CLAIMS = 500
"""Each is reconciled, and may be a mismatch and a violation: results, outcomes and their events hold all of that."""


def refuse_too_many(claims: Mapping[str, Any]) -> None:
    """Raises `InvalidRequest` beyond `MAX_CLAIMS`."""
    if len(claims) > MAX_CLAIMS:
        problem = Problem(
            path="/claimed_values", code="too_many_claims", message=f"At most {MAX_CLAIMS} claimed values"
        )
        raise InvalidRequest("too_many_claims", problem.message, [problem])
