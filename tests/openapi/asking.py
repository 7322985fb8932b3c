"""Requests to each service in each role, so that every operation admits one of them."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aex_models.audiences import Audience
from tests.e2e.live import Live, live_suite
from tests.openapi.hostile import Answers, Scope, send_requests
from tests.openapi.objects import Objects

ASKERS: Mapping[str, tuple[Audience, ...]] = {
    "work-publisher": (Audience.CONSUMER, Audience.AGENT, Audience.SERVICE),
    "verification": (Audience.AGENT, Audience.CONSUMER),
    "governance": (Audience.OPERATOR, Audience.SERVICE),
    "settlement": (Audience.FINANCE,),
}
"""The first role requests all operations, each further role those that refused the roles before."""
FURTHER_READERS: Mapping[str, tuple[Audience, ...]] = {
    "verification": (Audience.OPERATOR, Audience.FINANCE),
    "settlement": (Audience.CONSUMER, Audience.AGENT),
}
"""Further roles that see other fields of the same operations."""
_MORE = 4
"""Factor of examples for operations that refused the roles before."""


def unlimited_suite(folder: Path) -> AbstractContextManager[Live]:
    """Start a suite without rate limits: a 429 would hide the answer that an operation gives."""
    return live_suite(folder / ".aex", environment={"AEX_RATE_LIMIT_PER_S": "0"})


@dataclass(frozen=True, slots=True)
class RoleAnswers:
    """Responses of one service to one role."""

    service: str
    role: Audience
    answers: Answers


def request_all(live: Live, scope: Scope) -> Iterator[RoleAnswers]:
    for service, roles in ASKERS.items():
        shut: frozenset[str] | None = None
        for role in roles:
            found = request_as(live, service, role, scope, shut)
            shut = found.answers.shut()
            yield found
        for role in FURTHER_READERS.get(service, ()):
            yield request_as(live, service, role, scope.reading())


def request_as(
    live: Live, service: str, role: Audience, scope: Scope, only: frozenset[str] | None = None
) -> RoleAnswers:
    objects = Objects(live)
    document: Mapping[str, Any] = live.http.get(live.url(service, "/openapi.json")).json()
    known = _of(document, objects)
    if only is not None:  # few operations, which refused the roles before
        known, scope = _narrowed(known, only), replace(scope, examples=scope.examples * _MORE)
    token = objects.callers[role].token
    return RoleAnswers(service, role, send_requests(document, live.url(service, ""), token, scope, known, only))


def until(live: Live, requests: int, scope: Scope) -> Iterator[RoleAnswers]:
    done = 0
    while done < requests:
        for each in request_all(live, scope):
            done += each.answers.requests
            yield each
        scope = replace(scope, seed=scope.seed + 1)


def table(rows: list[RoleAnswers]) -> str:
    lines = [("service", "role", "operations", "requests", "statuses")]
    for each in rows:
        counts = ", ".join(f"{status}: {count}" for status, count in each.answers.by_status().items())
        numbers = (str(len(each.answers.operations())), str(each.answers.requests))
        lines.append((each.service, each.role.value, *numbers, counts))
    lines.append(("all", "", "", str(sum(each.answers.requests for each in rows)), ""))
    return "\n".join("{:<16}{:<10}{:<12}{:<10}{}".format(*line).rstrip() for line in lines)


def _of(document: Mapping[str, Any], objects: Objects) -> dict[str, list[str]]:
    labels = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    operations = [each for methods in document["paths"].values() for each in methods.values()]
    names = {each["name"] for operation in operations for each in operation.get("parameters", ())}
    known = objects.known.items()
    return {name: list(values) for name, values in known if name in names or name.partition("#")[0] in labels}


def _narrowed(known: Mapping[str, list[str]], only: frozenset[str]) -> dict[str, list[str]]:
    bound = {name.partition("#")[2]: values for name, values in known.items() if name.partition("#")[0] in only}
    return {name: values for name, values in known.items() if "#" not in name} | bound
