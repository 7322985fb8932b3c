"""From files to what the engine is asked, with every problem named by its file and the place in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from aex_cli.offline.documents import BadFile, Document
from aex_cli.offline.sources import CRITERIA, Source, Sources, criteria_in, unknown_fields, work_in
from aex_models.work import Budget, Problem, VerificationPolicy
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission.findings import problems_of
from aex_outcomes.submission.verify_request import Trial, check_trial
from aex_runtime.commandline.errors import UserError

_LATENCY = "platform_latency_ms"
Part = TypeVar("Part", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Given:
    """What was given to `aex verify`."""

    criteria: Document | None
    work: Document | None
    output: Document | None
    metadata: Document | None
    platform_latency_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be judged, and by whom."""

    trial: Trial
    budget: Budget | None
    """The work's, where it has one."""
    policy: VerificationPolicy
    """The work's: it may name a verifier."""
    sources: Sources
    """Where each part comes from."""


def asked_of(given: Given, catalog: Catalog) -> Asked:
    """What the files ask for. Raises `UserError` with everything that is wrong."""
    work = work_in(given.work)
    budget, wrong = _part(work, "budget", Budget)
    policy, amiss = _part(work, "verification", VerificationPolicy)
    criteria, source = _criteria(given, work, needed=policy is None or policy.verifier is None)
    parts = {
        CRITERIA: source,
        "output": Source("--output", given.output),
        "execution_metadata": Source("--metadata", given.metadata),
        _LATENCY: Source("--platform-latency-ms", None),
    }
    body: dict[str, Any] = {name: work[name] for name in ("input", "evaluation") if name in work}
    body |= {CRITERIA: criteria, "output": given.output.value if given.output else None}
    body[_LATENCY] = given.platform_latency_ms
    if given.metadata is not None:
        body["execution_metadata"] = given.metadata.value
    checked = check_trial(body, catalog, Trial)
    problems = [*unknown_fields(work), *wrong, *amiss, *checked.problems]
    sources = Sources(parts, Source("--work", given.work))
    if checked.request is None or problems:
        raise BadFile([sources.told(each.path, each.message) for each in problems])
    return Asked(checked.request, budget, policy or VerificationPolicy(), sources)


def _criteria(given: Given, work: Mapping[str, Any], *, needed: bool) -> tuple[Any, Source]:
    if given.criteria is not None:
        return criteria_in(given.criteria)
    if work.get(CRITERIA) is None and needed:
        raise UserError("there are no success criteria", "name their file with --criteria")
    return work.get(CRITERIA), Source("--work", given.work, f"/{CRITERIA}")


def _part(work: Mapping[str, Any], name: str, kind: type[Part]) -> tuple[Part | None, list[Problem]]:
    """A part of the work that the engine is not asked about; None where the work has none."""
    if work.get(name) is None:
        return None, []
    try:
        return kind.model_validate(work[name]), []
    except ValidationError as error:
        return None, problems_of(error, work[name], f"/{name}")
