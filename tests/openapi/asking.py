"""Who asks which service: between them, the roles come past the door of every operation."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from aex_models.audiences import Audience
from tests.e2e.live import Live
from tests.openapi.hostile import Answers, Scope, asked
from tests.openapi.objects import Objects

ASKERS: Mapping[str, tuple[Audience, ...]] = {
    "work-publisher": (Audience.CONSUMER, Audience.AGENT, Audience.SERVICE),
    "verification": (Audience.AGENT, Audience.CONSUMER),
    "governance": (Audience.OPERATOR, Audience.SERVICE),
    "settlement": (Audience.FINANCE,),
}
"""The first asks for all that a service has, each further one for what let none before it in."""
FURTHER_READERS: Mapping[str, tuple[Audience, ...]] = {
    "verification": (Audience.OPERATOR, Audience.FINANCE),
    "settlement": (Audience.CONSUMER, Audience.AGENT),
}
"""Who is let in where others were already, and answered otherwise: what is shown depends on the audience."""
NO_LIMITS = {"AEX_RATE_LIMIT_PER_S": "0"}
"""Of the suite that is asked: a 429 would hide what else the answer would have been."""


_MORE = 4
"""Times the examples, of an operation that let nobody in before."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one role was answered by one service."""

    service: str
    role: Audience
    answers: Answers


def all_asked(live: Live, scope: Scope) -> Iterator[Asked]:
    """Every service, by its askers in turn, and then by its further readers: these ask for all of it, less often."""
    for service, roles in ASKERS.items():
        shut: frozenset[str] | None = None
        for role in roles:
            found = asked_as(live, service, role, scope, shut)
            shut = found.answers.shut()
            yield found
        for role in FURTHER_READERS.get(service, ()):
            yield asked_as(live, service, role, scope.reading())


def asked_as(live: Live, service: str, role: Audience, scope: Scope, only: frozenset[str] | None = None) -> Asked:
    """One service by one role, with objects that nobody has used up."""
    objects = Objects(live)
    document: Mapping[str, Any] = live.http.get(live.url(service, "/openapi.json")).json()
    base, token = live.url(service, ""), objects.callers[role].token
    known = _of(document, objects)
    if only is not None:  # few operations, of which nobody has seen an answer yet
        known, scope = _narrowed(known, only), replace(scope, examples=scope.examples * _MORE)
    return Asked(service, role, asked(document, base, token, scope, known, only))


def until(live: Live, requests: int, scope: Scope) -> Iterator[Asked]:
    """Every service by each of its askers, again with other seeds until there were so many requests."""
    done = 0
    while done < requests:
        for each in all_asked(live, scope):
            done += each.answers.requests
            yield each
        scope = replace(scope, seed=scope.seed + 1)


def table(rows: list[Asked]) -> str:
    """Service, role, operations, requests and statuses, with a sum, for people."""
    lines = [("service", "role", "operations", "requests", "statuses")]
    for each in rows:
        counts = ", ".join(f"{status}: {count}" for status, count in each.answers.by_status().items())
        operations = str(len(each.answers.operations()))
        lines.append((each.service, each.role.value, operations, str(each.answers.requests), counts))
    lines.append(("all", "", "", str(sum(each.answers.requests for each in rows)), ""))
    widths = [max(len(line[place]) for line in lines) for place in range(4)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[4]]).rstrip()
        for line in lines
    )


def _of(document: Mapping[str, Any], objects: Objects) -> dict[str, list[str]]:
    """Those of the known values that the document has parameters for: schemathesis refuses a name without one."""
    operations = [
        (f"{method.upper()} {path}", operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    names = {each["name"] for _, operation in operations for each in operation.get("parameters", ())}
    labels = {label for label, _ in operations}
    return {
        name: list(values)
        for name, values in objects.known.items()
        if name in names or name.partition("#")[0] in labels
    }


def _narrowed(known: Mapping[str, list[str]], only: frozenset[str]) -> dict[str, list[str]]:
    """For some operations: what one of them wants of a parameter, all get. A binding to one would have all asked."""
    wanted = {name.partition("#")[2]: values for name, values in known.items() if name.partition("#")[0] in only}
    return {name: values for name, values in known.items() if "#" not in name} | wanted
