"""Which holds a page lists, as its address says it. Pure."""

import re
from collections.abc import Mapping
from urllib.parse import urlencode

from aex_governance.handlers.holds.queue import HoldFilter
from aex_models.governance import HoldCause, HoldStatus
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest, told

_RULES = {
    "status": (re.compile("|".join(HoldStatus)), f"must be one of {', '.join(HoldStatus)}"),
    "cause": (re.compile("|".join(HoldCause)), f"must be one of {', '.join(HoldCause)}"),
    "rule": (re.compile(r"[a-z][a-z0-9_]{0,63}"), "must be a rule's name, such as duplicate_output"),
}


def parse_filter(given: Mapping[str, str]) -> HoldFilter:
    """The filter of an address; an empty field is any, and without a status what waits.

    Raises `InvalidRequest`, naming every field that is wrong and what it takes.
    """
    texts = {name: given.get(name, "").strip() or None for name in _RULES}
    problems = [
        Problem(path=f"query/{name}", code="invalid_filter", message=f"{name} {hint}")
        for name, (pattern, hint) in _RULES.items()
        for text in [texts[name]]
        if text is not None and pattern.fullmatch(text) is None
    ]
    if problems:
        raise InvalidRequest("invalid_filter", told(problems), problems)
    return HoldFilter(
        status=HoldStatus(texts["status"] or HoldStatus.WAITING),
        cause=None if texts["cause"] is None else HoldCause(texts["cause"]),
        rule=texts["rule"],
    )


def query_of(wanted: HoldFilter) -> str:
    """The filter as the query of an address."""
    named = {"status": wanted.status, "cause": wanted.cause, "rule": wanted.rule}
    return urlencode({name: str(value) for name, value in named.items() if value is not None})
