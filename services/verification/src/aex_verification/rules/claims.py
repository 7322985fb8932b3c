"""Claimed values as their agent wrote them: how many decimals a number has is part of the claim."""

from collections.abc import Mapping
from typing import Any

from aex_models.canonical import canonical_bytes
from aex_models.numbers import JsonFloat
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest

MAX_CLAIMS = 500
"""Each is reconciled, and may be a mismatch and a violation: results, outcomes and their events hold all of that."""
_MAX_TEXT = 40
"""No number that a double holds needs more; of a longer one the shortest text of its double counts."""


def claim_texts(claims: Mapping[str, Any], kept: Mapping[str, str] | None = None) -> dict[str, str]:
    """The text of each claim; `kept`: of those that come from a store, which has numbers alone."""
    return {name: (kept or {}).get(name) or _text(value) for name, value in claims.items()}


def texts_to_keep(claims: Mapping[str, Any]) -> dict[str, str]:
    """The texts that a store would not give back: 11.170 is 11.17 to it, and 5.0 is 5."""
    texts = {name: (_text(value), canonical_bytes(value).decode()) for name, value in claims.items()}
    return {name: own for name, (own, stored) in texts.items() if own != stored}


def refuse_too_many(claims: Mapping[str, Any]) -> None:
    """Raises `InvalidRequest` beyond `MAX_CLAIMS`."""
    if len(claims) > MAX_CLAIMS:
        problem = Problem(
            path="/claimed_values", code="too_many_claims", message=f"At most {MAX_CLAIMS} claimed values"
        )
        raise InvalidRequest("too_many_claims", problem.message, [problem])


def _text(value: Any) -> str:
    own = value.text if isinstance(value, JsonFloat) else ""
    return own if 0 < len(own) <= _MAX_TEXT else canonical_bytes(value).decode()
