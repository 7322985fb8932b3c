"""Reads of every readable part of a contract, and invalid posts to every endpoint, in every role."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import httpx

from tests.e2e.parties import Caller
from tests.security.matrix import Route

_PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")
_STATIC = "/docs/"
"""Files of the installation."""
_LISTS = frozenset(
    f"/v1/{path}"
    for path in (
        *("work", "contracts", "contracts/{contract_id}/attempts", "outcomes", "holds", "settlements"),
        "accounts/{account_id:path}/entries",
    )
)
_QUERIES: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    **dict.fromkeys(_LISTS, ({"limit": 200},)),
    "/v1/settlements/breakdown": ({"group_by": ["agent", "day"]},),
    "/v1/settlements/export": ({"format": "csv"}, {"format": "jsonl"}),
    "/v1/outcomes/export": ({"format": "jsonl"}, {"format": "rollouts"}),
}
"""Queries of routes that need more than their path."""
_WRONG_BODIES = (b'{"output": ', b"[]", b'{"output": {"text": "x"}, "claimed_metrics": {"rougeL": "much"}, "odd": 1}')


def crawl(routes: Iterable[Route], readers: Iterable[Caller], ids: Mapping[str, str], *, lists: bool) -> None:
    """Each GET route about the contract, as each reader; with `lists` those that are about no object, too."""
    expected = [route for route in routes if route.method == "GET" and (lists or "{" in route.path)]
    for reader in readers:
        for route in expected:
            path = _path(route, reader, ids)
            if path is not None and not path.startswith(_STATIC):
                for query in _QUERIES.get(route.path, ({},)):
                    _refuse_breakdown(reader.get(route.service, path, **query))


def pester(routes: Iterable[Route], reader: Caller, ids: Mapping[str, str]) -> None:
    for route in routes:
        path = _path(route, reader, ids)
        if route.method == "POST" and path is not None:
            for content in _WRONG_BODIES:
                _refuse_breakdown(reader.raw(route.service, path, content))


def _path(route: Route, reader: Caller, ids: Mapping[str, str]) -> str | None:
    """The route's path for this contract; None where it has no such object."""
    known = {**ids, "account_id": f"agent:{reader.id}"}
    names = set(_PARAMETER.findall(route.path))
    return _PARAMETER.sub(lambda found: known[found[1]], route.path) if names <= set(known) else None


def _refuse_breakdown(answer: httpx.Response) -> None:
    assert answer.status_code < 500, answer.text
