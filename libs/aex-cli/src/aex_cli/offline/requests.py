"""From files to what the engine is asked, with every problem named by its file and the place in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from aex_cli.offline.documents import BadFile, Document
from aex_cli.offline.sources import CRITERIA, Source, Sources, criteria_in, unknown_fields, work_in
from aex_models.contract import Artifact, Candidate
from aex_models.work import Budget, Problem, VerificationPolicy
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission.findings import problems_of
from aex_outcomes.submission.verify_request import Trial, check_trial
from aex_runtime.commandline.errors import UserError

_LATENCY = "platform_latency_ms"
_UPLOADED = "sha256_missing"
"""What a work's data need once it is posted: files on this machine are named by options."""
Part = TypeVar("Part", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Given:
    """What was given to `aex verify`."""

    criteria: Document | None
    work: Document | None
    output: Document | None
    metadata: Document | None
    platform_latency_ms: float | None = None
    claims: Document | None = None
    reasoning: str | None = None


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

    def candidate(self, artifacts: tuple[Artifact, ...] = ()) -> Candidate:
        """What an agent would post."""
        trial = self.trial
        return Candidate(
            output=trial.output,
            execution_metadata=trial.execution_metadata,
            claimed_values=trial.claimed_values,
            reasoning=trial.reasoning,
            artifacts=artifacts,
        )


def asked_of(given: Given, catalog: Catalog) -> Asked:
    """What the files ask for. Raises `UserError` with everything that is wrong."""
    work = work_in(given.work)
    budget, wrong = _part(work, "budget", Budget)
    policy, amiss = _part(work, "verification", VerificationPolicy)
    judged_otherwise = (policy is not None and policy.verifier is not None) or work.get("science") is not None
    criteria, source = _criteria(given, work, needed=not judged_otherwise)
    parts = {
        CRITERIA: source,
        "output": Source("--output", given.output),
        "execution_metadata": Source("--metadata", given.metadata),
        "claimed_values": Source("--claims", given.claims),
        "reasoning": Source("--reasoning", None),
        _LATENCY: Source("--platform-latency-ms", None),
    }
    body: dict[str, Any] = {name: work[name] for name in ("input", "evaluation", "domain") if name in work}
    body |= {CRITERIA: criteria, "output": given.output.value if given.output else None}
    body |= {_LATENCY: given.platform_latency_ms, "reasoning": given.reasoning, "science": work.get("science")}
    if given.metadata is not None:
        body["execution_metadata"] = given.metadata.value
    if given.claims is not None:
        body["claimed_values"] = given.claims.value
    checked = check_trial(body, catalog, Trial, reviewer=True)
    problems = [*unknown_fields(work), *wrong, *amiss, *(each for each in checked.problems if each.code != _UPLOADED)]
    sources = Sources(parts, Source("--work", given.work))
    if problems:
        raise BadFile([sources.told(each.path, each.message) for each in problems])
    return Asked(checked.request or Trial.model_validate(body), budget, policy or VerificationPolicy(), sources)


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
