"""Requests that schemathesis generates from one document, with counts of the responses."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from schemathesis import openapi, serializer
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema

from tests.openapi.explained import filter_failure

serializer.alias("application/x-ndjson", "text/plain")
REQUEST_S = 30.0
"""Time limit of any answer; a stream that does not end is a failure."""
KNOWN_SHARE = 0.7
"""Probability that a parameter is an existing id."""
SHUT = {401, 403, 405}


@dataclass(frozen=True, slots=True)
class Scope:
    """Extent of the requests: `examples` of each operation, and the `limits` of its schemas."""

    examples: int
    seed: int = 1
    chained: bool = False
    """True if ids from answers are used in further requests, which is slow."""
    limits: bool = True
    """True if values at the limits of the schemas are sent, too."""

    def reading(self) -> "Scope":
        return replace(self, limits=False)


@dataclass(slots=True)
class Answers:
    """Counted statuses of each operation, and violations of the document."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)
    """Violations by operation and kind; the first of each kind in full."""

    @property
    def requests(self) -> int:
        return self.statuses.total()

    def by_status(self) -> Mapping[int, int]:
        counts: Counter[int] = Counter()
        for (_, status), count in self.statuses.items():
            counts[status] += count
        return dict(sorted(counts.items()))

    def shut(self) -> frozenset[str]:
        return frozenset(name for name, statuses in self.operations().items() if statuses <= SHUT)

    def operations(self) -> Mapping[str, set[int]]:
        found: dict[str, set[int]] = {}
        for operation, status in self.statuses:
            found.setdefault(operation, set()).add(status)
        return found


def send_requests(
    document: Mapping[str, Any],
    base_url: str,
    token: str,
    scope: Scope,
    known: Mapping[str, Sequence[str]] | None = None,
    only: frozenset[str] | None = None,
) -> Answers:
    """Ask the service at `base_url` what its document allows and forbids.

    `known`: values of parameters, by name (`contract_id`), or by operation and name
    (`GET /v1/contracts/{contract_id}/events#contract_id`). `only`: these operations (`GET /v1/holds`), not all.
    """
    schema = openapi.from_dict(dict(document), config=_config(base_url, token, scope, known or {}))
    schema.hook(filter_failure)
    chosen = schema if only is None else schema.include(lambda context: context.operation.label in only)
    answers = Answers()
    for event in from_schema(chosen).execute():
        if isinstance(event, events.ScenarioFinished):
            _count(event, answers)
        elif isinstance(event, events.NonFatalError):
            answers.failures[f"{event.label}: could not be asked"] = str(event.info)
        elif isinstance(event, events.FatalError):
            raise event.exception
    return answers


def _count(event: events.ScenarioFinished, answers: Answers) -> None:
    recorder = event.recorder
    for case_id, interaction in recorder.interactions.items():
        operation = recorder.cases[case_id].value.operation.label
        if interaction.response is None:
            answers.failures[f"{operation}: no answer"] = interaction.request.uri
        else:
            answers.statuses[operation, interaction.response.status_code] += 1
    for case_id, checks in recorder.checks.items():
        for check in checks:
            if check.status is Status.SUCCESS:
                continue
            operation = recorder.cases[case_id].value.operation.label
            failed = check.failure_info
            text = "the check itself broke" if failed is None else f"{failed.failure}\n{failed.code_sample}"
            answers.failures.setdefault(f"{operation}: {check.name}", text)


def _config(base_url: str, token: str, scope: Scope, known: Mapping[str, Sequence[str]]) -> SchemathesisConfig:
    dictionaries = {f"known {name}": {"values": list(values)} for name, values in known.items()}
    bound = {name: {"dictionary": f"known {name}", "probability": KNOWN_SHARE} for name in known}
    narrowed = [
        {"include-name": name.partition("#")[0], "parameters": {name.partition("#")[2]: binding}}
        for name, binding in bound.items()
        if "#" in name
    ]
    return SchemathesisConfig.from_dict(
        {
            "seed": scope.seed,
            "base-url": base_url,
            "headers": {"Authorization": f"Bearer {token}"},
            "request-timeout": REQUEST_S,
            "continue-on-failure": True,
            "generation": {"max-examples": scope.examples, "database": "none", "no-shrink": True},
            "phases": {"stateful": {"enabled": scope.chained}, "coverage": {"enabled": scope.limits}},
            "dictionaries": dictionaries,
            "parameters": {name: binding for name, binding in bound.items() if "#" not in name},
            "operations": narrowed,
        }
    )
