"""From files to what the engine is asked, with every problem named by its file and the place in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from aex_cli.errors import UserError
from aex_cli.offline.documents import BadFile, Document
from aex_cli.offline.sources import CRITERIA, Source, Sources, criteria_in, unknown_fields, work_in
from aex_models.work import Budget, Problem
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission.findings import problems_of
from aex_outcomes.submission.verify_request import VerifyRequest, check_verify_request

_LATENCY = "platform_latency_ms"


@dataclass(frozen=True, slots=True)
class Given:
    """What was given to `aex verify`."""

    criteria: Document | None
    work: Document | None
    output: Document | None
    metadata: Document | None
    platform_latency_ms: float | None = None


def verify_request(given: Given, catalog: Catalog) -> tuple[VerifyRequest, Budget | None]:
    """The request, and the work's budget where it has one. Raises `UserError` with everything that is wrong."""
    work = work_in(given.work)
    criteria, source = _criteria(given, work)
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
    checked = check_verify_request(body, catalog)
    budget, wrong = _budget(work)
    problems = [*unknown_fields(work), *wrong, *checked.problems]
    if checked.request is None or problems:
        sources = Sources(parts, Source("--work", given.work))
        raise BadFile([sources.told(each.path, each.message) for each in problems])
    return checked.request, budget


def _criteria(given: Given, work: Mapping[str, Any]) -> tuple[Any, Source]:
    if given.criteria is not None:
        return criteria_in(given.criteria)
    if work.get(CRITERIA) is None:
        raise UserError("there are no success criteria", "name their file with --criteria")
    return work[CRITERIA], Source("--work", given.work, f"/{CRITERIA}")


def _budget(work: Mapping[str, Any]) -> tuple[Budget | None, list[Problem]]:
    if work.get("budget") is None:
        return None, []
    try:
        return Budget.model_validate(work["budget"]), []
    except ValidationError as error:
        return None, problems_of(error, work["budget"], "/budget")
