"""Trials of the code in evaluation data, of reference and raw data: which are due, and what they find."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from aex_models.domains import Domain
from aex_models.events import WorkSubmitted
from aex_models.examination import (
    MIXED_GROUPS,
    RECOMPUTE_STATISTICS,
    DataProblem,
    Examination,
    Fault,
    MixingRule,
)
from aex_models.frozen import Frozen, Instant
from aex_models.science import Science
from aex_models.work import EvaluationBlob, LintWarning, Problem
from aex_outcomes.science.tables.file_checks import quote_name_for_message

EVALUATION_AREA = "evaluation"
"""Area of the evaluation blobs that work-publisher writes."""
MAX_LOST = 3
"""Trials whose worker may be lost before a work with custom code is refused."""
OWN_DATA_ALONE = "own_data_alone"
"""Code of the warning about statistics that are computed from agents' files."""
_MAX_FINDINGS, _MAX_TEXT = 200, 2_000
_EXAMPLE = "`mean_fitness[condition=A]`"


class TrialFindings(Frozen):
    """Problems and warnings that a trial found in a work."""

    problems: tuple[Problem, ...] = ()
    """Problems; any of them refuses a work with custom code."""
    warnings: tuple[LintWarning, ...] = ()


class WorkCheckRecord(Frozen):
    """Stored findings of a work's trial; they never change."""

    work_id: str
    findings: TrialFindings
    checked_at: Instant


class PendingCheck(Frozen):
    """Trial that is due or waits for its timer, with counts of failures."""

    submitted: WorkSubmitted
    lost: Annotated[int, Field(ge=0)] = 0
    """Trials of code whose worker was lost."""
    data_lost: Annotated[int, Field(ge=0)] = 0
    """Failed trials of the raw data."""
    waited: Annotated[int, Field(ge=0)] = 0
    """Number of delays, from which the next delay follows."""


class UnreadableFindings(ValueError):
    """Error for a worker's answer without readable findings.

    The answer is never quoted, because hostile code may have written it.
    """


UNRUNNABLE = Problem(
    path="/evaluation",
    code="custom_code_unrunnable",
    message="The code of the evaluation data could not be run to an end within its limits of time and memory",
)


def needs_criteria_trial(blob: EvaluationBlob) -> bool:
    """Return whether the evaluation data have code to run, or a reference to try the criteria on."""
    evaluation = blob.evaluation
    if evaluation is None:
        return False
    return evaluation.has_code or (evaluation.reference is not None and blob.success_criteria is not None)


def needs_data_trial(blob: EvaluationBlob) -> bool:
    """Return whether the work has raw data of its own on which its statistics can be tried."""
    return blob.science is not None and bool(blob.science.data)


def is_slow_trial(blob: EvaluationBlob) -> bool:
    """Return whether the trial runs code or reads raw data, and so needs a slot for slow jobs."""
    return needs_data_trial(blob) or (blob.evaluation is not None and blob.evaluation.has_code)


def find_data_warnings(science: Science, domain: Domain | None, examination: Examination) -> tuple[LintWarning, ...]:
    """Return warnings about statistics that cannot be computed from the work's own data.

    `examination` is the result for these data alone, before any candidate. If the data are unreadable or incomplete, no
    candidate gets a verdict. If they lack the columns of a statistic, it is computed from the agent's files
    (`own_data_alone`).
    """
    found = [_warn_about_problem(science, problem) for problem in examination.problems[:_MAX_FINDINGS]]
    return (*found, *_warn_about_groups(science, examination), *_warn_about_recipes(science, domain, examination))


def _warn_about_problem(science: Science, problem: DataProblem) -> LintWarning:
    message, suggestion = problem.message, "Until that is fixed, no candidate has a verdict that rests on it"
    if problem.fault is Fault.AGENT:
        needed = next((each.needed_columns for each in science.statistics if each.name == problem.name), ())
        message = f"No file of the work's own data has {', '.join(needed) or 'it'}: it is recomputed from agents' files"
        suggestion = "Add a file that has it to science.data, unless agents are to hand it in"
    return LintWarning(
        path=_pointer_of(science, problem),
        code=OWN_DATA_ALONE if problem.fault is Fault.AGENT else problem.code,
        message=message[:_MAX_TEXT],
        suggestion=suggestion,
    )


def _warn_about_groups(science: Science, examination: Examination) -> Iterator[LintWarning]:
    """Warn of statistics that mix groups of the work's own data; no cell is quoted."""
    for each in examination.mixed_groups:
        column = quote_name_for_message(each.column)
        columns = f"{quote_name_for_message(each.measured)} has groups by {column}"
        if not science.statistics:
            if each.rule is MixingRule.RANGE or MIXED_GROUPS in science.checks:
                message = f"{columns}: default statistics are computed for each group alone, as {_EXAMPLE}"
                suggestion = "Tell agents the groups, or name statistics with a filter in science.statistics"
                yield LintWarning(code=MIXED_GROUPS, path="/science/data", message=message, suggestion=suggestion)
            continue
        for at, statistic in enumerate(science.statistics):
            if statistic.name in each.statistics:
                yield LintWarning(
                    code=MIXED_GROUPS,
                    path=f"/science/statistics/{at}",
                    message=f"{columns} that should not be mixed, and {statistic.name} is computed over all of them",
                    suggestion=f"Give it a filter in `where` that keeps one group of {column}",
                )


def _warn_about_recipes(science: Science, domain: Domain | None, examination: Examination) -> Iterator[LintWarning]:
    """Warn if no data file has a column for any statistic of the domain, and the work names none itself."""
    if domain is None or science.statistics or RECOMPUTE_STATISTICS not in science.checks or examination.problems:
        return
    recipes = [each.name for each in domain.statistics]
    computed = {each.name.partition("[")[0] for each in examination.recomputed}  # also of single groups
    if recipes and not computed & set(recipes):
        yield LintWarning(
            code="recipes_not_served",
            path="/science/data",
            message=f"No file of the work's own data has a score column of {domain.name} "
            f"({', '.join(domain.common_columns)}): claims of {', '.join(recipes)} are not recomputed",
            suggestion="Name a column so, or name the statistics and their columns in science.statistics",
        )


def _pointer_of(science: Science, problem: DataProblem) -> str:
    statistics = [
        f"/science/statistics/{at}" for at, each in enumerate(science.statistics) if each.name == problem.name
    ]
    files = [f"/science/data/{at}" for at, each in enumerate(science.data) if each.name == problem.artifact]
    return next(iter([*statistics, *files]), "/science/data")


def parse_trial_findings(answer: dict[str, Any]) -> TrialFindings:
    """Return the findings in a worker's answer.

    Raises `UnreadableFindings`, also for findings that are too many or too long.
    """
    try:
        found = TrialFindings.model_validate({name: answer[name] for name in TrialFindings.model_fields})
    except (ValueError, KeyError) as error:
        raise UnreadableFindings(type(error).__name__) from None
    texts = [text for each in (*found.problems, *found.warnings) for text in each.model_dump().values()]
    if len(found.problems) + len(found.warnings) > _MAX_FINDINGS or any(len(text) > _MAX_TEXT for text in texts):
        raise UnreadableFindings("too long")
    return found
