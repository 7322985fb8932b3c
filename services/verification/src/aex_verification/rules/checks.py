"""The trial of a work's custom code, its reference and its raw data: what came of it, and what waits for it."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from aex_models.domains import Domain
from aex_models.events import WorkSubmitted
from aex_models.examination import DataProblem, Examination
from aex_models.faults import Fault
from aex_models.frozen import Frozen, Instant
from aex_models.science import Science
from aex_models.science_checks import RECOMPUTE_STATISTICS
from aex_models.work import EvaluationBlob, LintWarning, Problem

MAX_LOST = 3
"""So often code may take its worker down with it, in a sandbox that serves others, before the work is refused."""
OWN_DATA_ALONE = "own_data_alone"
"""As the linter says of what rests on agents' files."""
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


def data_warnings(science: Science, domain: Domain | None, examination: Examination) -> tuple[LintWarning, ...]:
    """What the work's own data cannot serve. `examination`: of them alone, without a candidate.

    What they hold in part, or cannot be read for, leaves every candidate without a verdict; what they hold nothing of
    is computed from what the agent hands in (`own_data_alone`).
    """
    found = [_data_warning(science, problem) for problem in examination.problems[:_MAX_FINDINGS]]
    return (*found, *_recipes_warnings(science, domain, examination))


def _data_warning(science: Science, problem: DataProblem) -> LintWarning:
    message, mend = problem.message[:_MAX_TEXT], "Until that is mended, no candidate has a verdict that rests on it"
    if problem.fault is Fault.AGENT:
        needed = next((each.needed_columns for each in science.statistics if each.name == problem.name), ())
        message = f"No file of the work's own data has {', '.join(needed) or 'it'}: it is recomputed from agents' files"
        mend = "Add a file that has it to science.data, unless agents are to hand it in"
    return LintWarning(
        path=_place(science, problem),
        code=OWN_DATA_ALONE if problem.fault is Fault.AGENT else problem.code,
        message=message[:_MAX_TEXT],
        suggestion=mend,
    )


def _recipes_warnings(science: Science, domain: Domain | None, examination: Examination) -> Iterator[LintWarning]:
    """The domain's recipes, where the work names no statistics, and its data have no column for any of them."""
    if domain is None or science.statistics or RECOMPUTE_STATISTICS not in science.checks or examination.problems:
        return
    recipes, computed = [each.name for each in domain.statistics], {each.name for each in examination.recomputed}
    if recipes and not computed & set(recipes):
        yield LintWarning(
            code="recipes_not_served",
            path="/science/data",
            message=f"No file of the work's own data has a score column of {domain.name} "
            f"({', '.join(domain.common_columns)}): claims of {', '.join(recipes)} are not recomputed",
            suggestion="Name a column so, or name the statistics and their columns in science.statistics",
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
