"""The trial of a work's custom code, its reference and its raw data: what came of it, and what waits for it."""

from typing import Annotated, Any

from pydantic import Field

from aex_models.events import WorkSubmitted
from aex_models.frozen import Frozen, Instant
from aex_models.science import DataProblem, Examination, Science
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
    data_lost: Annotated[int, Field(ge=0)] = 0
    """How often its raw data could not be tried."""
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
    """Whether there is something to try: custom code, a reference that the criteria may refuse, or own raw data."""
    return tries_criteria(blob) or tries_data(blob)


def tries_criteria(blob: EvaluationBlob) -> bool:
    """Whether custom code is tried, or a reference is held against the criteria."""
    evaluation = blob.evaluation
    if evaluation is None:
        return False
    return bool(evaluation.custom_metrics) or (evaluation.reference is not None and blob.success_criteria is not None)


def tries_data(blob: EvaluationBlob) -> bool:
    """Whether the work's statistics are tried on its own raw data."""
    return blob.science is not None and bool(blob.science.data)


def is_slow_trial(blob: EvaluationBlob) -> bool:
    """Whether others would have to wait for it too long."""
    return tries_data(blob) or (blob.evaluation is not None and bool(blob.evaluation.custom_metrics))


def data_warnings(science: Science, examination: Examination) -> tuple[LintWarning, ...]:
    """What the work's own data cannot serve: no candidate is blamed for it, and none could be judged by it."""
    return tuple(
        LintWarning(
            path=_place(science, problem),
            code=problem.code,
            message=problem.message[:_MAX_TEXT],
            suggestion="Until that is mended, no candidate can be held against the work's own data in this",
        )
        for problem in examination.problems[:_MAX_FINDINGS]
    )


def _place(science: Science, problem: DataProblem) -> str:
    """The statistic, or else the file, that a problem is about."""
    statistics = [
        f"/science/statistics/{at}" for at, each in enumerate(science.statistics) if each.name == problem.name
    ]
    files = [f"/science/data/{at}" for at, each in enumerate(science.data) if each.name == problem.artifact]
    return next(iter([*statistics, *files]), "/science/data")


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
