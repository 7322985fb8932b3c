"""The trial of a work's custom code and of its reference: what came of it, and what waits for it."""

from typing import Annotated, Any

from pydantic import Field

from aex_models.events import WorkSubmitted
from aex_models.frozen import Frozen, Instant
from aex_models.work import EvaluationBlob, LintWarning, Problem

MAX_LOST = 3
"""So often code may take its worker down with it, in a sandbox that serves others, before the work is refused."""
_MAX_FINDINGS, _MAX_TEXT = 200, 2_000


class Findings(Frozen):
    """What a dry run found."""

    problems: tuple[Problem, ...] = ()
    """Each of them refuses the work."""
    warnings: tuple[LintWarning, ...] = ()


class WorkCheck(Frozen):
    """The end of a work's check. The first stands."""

    work_id: str
    findings: Findings
    checked_at: Instant


class PendingCheck(Frozen):
    """A check that waits on its timer."""

    submitted: WorkSubmitted
    lost: Annotated[int, Field(ge=0)] = 0
    """How often its worker did not come to an end."""
    waited: Annotated[int, Field(ge=0)] = 0
    """How often it was put off, in all."""


class UnreadableFindings(ValueError):
    """What a worker answered is no list of findings. Nothing of it is quoted: it comes from hostile code."""


UNRUNNABLE = Problem(
    path="/evaluation/custom_metrics",
    code="custom_code_unrunnable",
    message="The custom metrics could not be run to an end within their limits of time and memory",
)


def needs_trial(blob: EvaluationBlob) -> bool:
    """Whether there is something to try: custom code, or a reference that the criteria may refuse."""
    evaluation = blob.evaluation
    if evaluation is None:
        return False
    return bool(evaluation.custom_metrics) or (evaluation.reference is not None and blob.success_criteria is not None)


def read_findings(answer: dict[str, Any]) -> Findings:
    """A worker's answer as findings. Raises `UnreadableFindings`."""
    try:
        found = Findings.model_validate({name: answer[name] for name in Findings.model_fields})
    except (ValueError, KeyError) as error:
        raise UnreadableFindings(type(error).__name__) from None
    texts = [text for each in (*found.problems, *found.warnings) for text in each.model_dump().values()]
    if len(found.problems) + len(found.warnings) > _MAX_FINDINGS or any(len(text) > _MAX_TEXT for text in texts):
        raise UnreadableFindings("too long")
    return found
