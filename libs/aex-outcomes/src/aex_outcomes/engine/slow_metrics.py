"""Slow metrics: whether criteria use any, the time that they may take, and trials of their code."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aex_models.catalog import Cost
from aex_models.criteria import SuccessCriteria, SuccessCriterion
from aex_models.work import LintWarning, Problem
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.extraction_plan import plan_extraction
from aex_outcomes.extractors.protocol import compute_max_seconds, try_evaluation

_DRY_RUNS = 3
"""Runs of all code in a dry run: on an empty candidate, on the reference, and for the criteria."""


def has_slow_metric(criteria: SuccessCriteria | None, catalog: Catalog) -> bool:
    """Return True if a criterion's metric is slow; metrics that the catalogue does not know are not."""
    return bool(_slow_criteria(criteria, catalog))


def compute_max_slow_seconds(
    criteria: SuccessCriteria | None, task_input: Mapping[str, Any], catalog: Catalog
) -> float:
    """Return the seconds that slow metrics of the criteria take at most; 0 if no code would run.

    `task_input`: the work's input with evaluation data.
    """
    slow = _slow_criteria(criteria, catalog)
    seconds = 0.0
    for run in plan_extraction(slow, task_input, catalog).runs:
        metrics = frozenset(run.to_extractor_metric(slow[position].metric) for position in run.positions)
        seconds += compute_max_seconds(catalog.extractors[run.section], run.task_input, metrics)
    return seconds


def _slow_criteria(criteria: SuccessCriteria | None, catalog: Catalog) -> Sequence[SuccessCriterion]:
    known = [each for each in criteria.criteria if each.metric in catalog] if criteria else []
    return [each for each in known if catalog.entry(each.metric).cost is Cost.SLOW]


def compute_max_dry_run_seconds(evaluation: Mapping[str, Any], catalog: Catalog) -> float:
    """Return the seconds that a dry run of the evaluation data takes at most; 0 without code."""
    parts = [data for _, data in list_evaluation_data(evaluation)]
    one_run = sum(compute_max_seconds(each, data, None) for each in catalog.extractors.values() for data in parts)
    return _DRY_RUNS * one_run


async def try_evaluation_code(
    evaluation: Mapping[str, Any], catalog: Catalog
) -> tuple[list[Problem], list[LintWarning]]:
    """Run the code of the evaluation data without a candidate, and return its problems and warnings."""
    problems: list[Problem] = []
    warnings: list[LintWarning] = []
    for extractor in catalog.extractors.values():
        for pointer, data in list_evaluation_data(evaluation):
            for found in await try_evaluation(extractor, data):
                path = f"/evaluation{pointer}{found.path}"
                if isinstance(found, Problem):
                    problems.append(found.model_copy(update={"path": path}))
                else:
                    warnings.append(found.model_copy(update={"path": path}))
    return problems, warnings


def list_evaluation_data(evaluation: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the evaluation data and each named part of them, with its JSON pointer below `evaluation`."""
    yield "", evaluation
    for name, data in (evaluation.get("named") or {}).items():
        yield f"/named/{name}", data
