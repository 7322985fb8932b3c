"""How near a candidate's output is to earlier ones of its contract."""

from collections.abc import Mapping
from typing import Any

from aex_models.canonical import NotCanonical, canonical_bytes
from aex_outcomes.kernels.likeness import likeness

MAX_COMPARED = 100_000
"""Code points of an output's form that are kept and compared."""
MOST_EARLIER = 20
"""Earlier outputs that one is compared with: the latest."""


def structured_form(output: Any, text: str | None) -> str | None:
    """Canonical JSON of the output, cut; None where its text makes up most of it and is compared instead."""
    try:
        form = canonical_bytes(output).decode()
    except NotCanonical:
        return None
    return None if text and 2 * len(text) >= len(form) else form[:MAX_COMPARED]


def likenesses(form: str | None, earlier: Mapping[str, str]) -> dict[str, float]:
    """Of each earlier form, by the hash of its output, the likeness to this one: the latest `MOST_EARLIER` of them.

    `earlier` is in order, the oldest first. Forms that were cut and are equal so far may differ further on: what
    cannot be told is left out.
    """
    if form is None:
        return {}
    cut = form[:MAX_COMPARED]
    latest = {digest: each[:MAX_COMPARED] for digest, each in [*earlier.items()][-MOST_EARLIER:]}
    return {
        digest: round(likeness(cut, each), 6)
        for digest, each in latest.items()
        if each != cut or len(cut) < MAX_COMPARED
    }
