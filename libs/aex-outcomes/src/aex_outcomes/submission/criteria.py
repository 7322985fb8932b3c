"""Criteria against the catalogue: known metrics, fitting types, and evaluation data for each."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic import ValidationError

from aex_models.catalog import MetricEntry
from aex_models.criteria import SuccessCriteria, SuccessCriterion, identity
from aex_models.thresholds import MetricType
from aex_models.work import EVALUATION_KEYS, Problem
from aex_outcomes.catalog import Catalog, InvalidMetricType, TooManyCriteria, UnknownMetric, is_absent, supplied_by
from aex_outcomes.custom_names import ANY_NAME, is_custom
from aex_outcomes.extractors.custom import CUSTOM_METRICS, code_name, declared_names
from aex_outcomes.extractors.protocol import checks_evaluation
from aex_outcomes.statistic_names import ANY_STATISTIC, is_statistic
from aex_outcomes.submission.findings import CRITERIA
from aex_outcomes.submission.science import requirement_problems, sound_statistics, statistic_problem

SCIENCE_METRICS = frozenset(
    {
        "values_plausible",
        "values_consistent",
        "domain_violations",
        "value_mismatches",
        "claims_not_recomputed",
        "answers_question",
        "reasoning_sound",
        "scientific_validity",
        "review_confidence",
    }
)
EXPECTED_OUTCOME = "expected_outcome"
"""The secret of a work's `science`."""
MAX_LOOKED_AT = 100
MAX_NAME = 128


@dataclass(frozen=True, slots=True)
class _Around:
    """What criteria are held against: the rest of their body, as it is, and what there is here."""

    evaluation: Mapping[str, Any]
    science: Any
    catalog: Catalog
    """With what is known of the work's own statistics."""
    reviewer: bool


def criteria_problems(
    body: Mapping[str, Any], catalog: Catalog, *, reviewer: bool = False, read: SuccessCriteria | None = None
) -> Iterator[Problem]:
    """What is wrong with the criteria of a body beyond their shape; criteria of a wrong shape are passed over.

    `reviewer`: whether there is one here, for the metrics that only a reader can tell. `read`: those of the body, where
    their shape is known to be right.
    """
    criteria = body.get("success_criteria")
    listed = criteria.get("criteria") if isinstance(criteria, Mapping) else None
    if not isinstance(listed, list | tuple):
        return
    if len(listed) > catalog.max_criteria:
        message = str(TooManyCriteria(catalog.max_criteria, len(listed)))
        yield Problem(path=f"{CRITERIA}/criteria", code="too_many_criteria", message=message)
    evaluation, science = body.get("evaluation"), body.get("science")
    given = evaluation if isinstance(evaluation, Mapping) else {}
    around = _Around(given, science, catalog.with_statistics(sound_statistics(science)), reviewer)
    criteria_read = read.criteria if read else map(_read, listed)
    looked_at = list(islice(zip(listed, criteria_read, strict=False), MAX_LOOKED_AT))
    yield from _duplicates([criterion for _, criterion in looked_at])
    for position, (raw, criterion) in enumerate(looked_at):
        if isinstance(raw, Mapping) and _is_named(raw):
            yield from _one(raw, criterion, f"{CRITERIA}/criteria/{position}", around)


def _is_named(raw: Mapping[str, Any]) -> bool:
    """Whether a criterion names a metric at all: what is no name is reported with the shape, and not repeated."""
    metric = raw.get("metric")
    return isinstance(metric, str) and 0 < len(metric) <= MAX_NAME


def _duplicates(listed: Sequence[SuccessCriterion | None]) -> Iterator[Problem]:
    """Equal criteria among those of a right shape: where all of them have one, the model tells."""
    if None not in listed:
        return
    first_of: dict[str, int] = {}
    for position, criterion in enumerate(listed):
        if criterion is not None and (first := first_of.setdefault(identity(criterion), position)) != position:
            message = (
                f"Criteria {first} and {position} are the same: metric {criterion.metric}, comparison and threshold"
            )
            yield Problem(path=f"{CRITERIA}/criteria", code="duplicate_criterion", message=message)


def _read(raw: Any) -> SuccessCriterion | None:
    """The criterion, or None: what is wrong with its shape is reported with the shape."""
    try:
        return SuccessCriterion.model_validate(raw)
    except ValidationError:
        return None


def _one(raw: Mapping[str, Any], criterion: SuccessCriterion | None, path: str, around: _Around) -> Iterator[Problem]:
    catalog, evaluation = around.catalog, around.evaluation
    unknown = _unknown(raw["metric"], f"{path}/metric", around)
    if unknown:
        yield unknown
        return
    entry = catalog.entry(raw["metric"])
    if raw.get("metric_type") in [each for each in MetricType if each not in entry.metric_types]:
        message = str(InvalidMetricType(entry))
        yield Problem(path=f"{path}/metric_type", code="invalid_metric_type", message=message)
    if criterion is not None:
        yield from _threshold(criterion, path, entry.needs, catalog)
    for key in catalog.needs(criterion) if criterion else _likely_needs(raw, entry):
        if is_absent(evaluation.get(key)):
            yield Problem(
                path=f"/evaluation/{key}", code="evaluation_missing", message=f"{entry.name} needs evaluation.{key}"
            )
    yield from _undeclared(entry.name, evaluation)
    yield from requirement_problems(entry, f"{path}/metric", around.science, reviewer=around.reviewer)


def _undeclared(metric: str, evaluation: Mapping[str, Any]) -> Iterator[Problem]:
    """A custom metric whose code the evaluation data lack, though they have other code."""
    name, declared = code_name(metric), declared_names(evaluation)
    if name is not None and not is_absent(evaluation.get(CUSTOM_METRICS)) and name not in declared:
        message = f"{metric} needs the code {name} in evaluation.{CUSTOM_METRICS}"
        yield Problem(path=f"/evaluation/{CUSTOM_METRICS}", code="evaluation_missing", message=message)


def _likely_needs(raw: Mapping[str, Any], entry: MetricEntry) -> tuple[str, ...]:
    """What a criterion of a wrong shape will need once it is mended: nothing where its threshold may bring it."""
    return () if isinstance(raw.get("threshold"), list | Mapping) else entry.needs


def _unknown(metric: str, path: str, around: _Around) -> Problem | None:
    """Why a metric cannot be named here: not at all, or not yet."""
    catalog = around.catalog
    if metric in catalog and metric not in (ANY_NAME, ANY_STATISTIC):
        return statistic_problem(metric, path, around.science)
    code, message = "unknown_metric", str(UnknownMetric(metric))
    if is_custom(metric) and ANY_NAME in catalog:
        message += " (custom.NAME or custom.NAME.KEY is expected)"
    elif is_custom(metric):
        code, message = "custom_metrics_unavailable", f"Custom metrics are not available here: {metric}"
    elif is_statistic(metric) and ANY_STATISTIC in catalog:
        message += " (stat.NAME is expected)"
    elif metric in SCIENCE_METRICS or is_statistic(metric):
        code, message = "science_unavailable", f"Scientific verification is not available here: {metric}"
    return Problem(path=path, code=code, message=message)


def _threshold(criterion: SuccessCriterion, path: str, needs: Collection[str], catalog: Catalog) -> Iterator[Problem]:
    """A threshold that brings terms or a schema: for a metric that takes them, and such that they can be used."""
    brought = supplied_by(criterion)
    if not brought:
        return
    said = f"Invalid threshold for metric: {criterion.metric}"
    if not set(brought) <= set(needs):
        message = f"{said} ({', '.join(brought)} is not what this metric takes)"
        yield Problem(path=f"{path}/threshold", code="invalid_threshold", message=message)
        return
    extractor = catalog.extractors[catalog.sources[criterion.metric]]
    if checks_evaluation(extractor):
        for problem in extractor.check_evaluation(brought):
            where = f"{path}/threshold{_below(problem.path)}"
            yield Problem(path=where, code=problem.code, message=f"{said} ({problem.message})")


def _below(path: str) -> str:
    """The part of a pointer below its first segment."""
    rest = path.split("/", 2)[2:]
    return f"/{rest[0]}" if rest else ""


def evaluation_problems(body: Mapping[str, Any], catalog: Catalog) -> Iterator[Problem]:
    """What extractors say of the evaluation data, and evaluation data where agents would read them."""
    evaluation, work_input = body.get("evaluation"), body.get("input")
    if isinstance(evaluation, Mapping):
        for extractor in catalog.extractors.values():
            if checks_evaluation(extractor):
                yield from _moved(extractor.check_evaluation(evaluation))
        if evaluation.get(CUSTOM_METRICS) and ANY_NAME not in catalog:
            message = "Custom metrics are not available here"
            yield Problem(path="/evaluation/custom_metrics", code="custom_metrics_unavailable", message=message)
    if isinstance(work_input, Mapping):
        yield from _in_input(work_input)


def _moved(problems: Iterable[Problem]) -> Iterator[Problem]:
    for problem in problems:
        yield problem.model_copy(update={"path": f"/evaluation{problem.path}"})


def _in_input(work_input: Mapping[str, Any]) -> Iterator[Problem]:
    for key in sorted({*EVALUATION_KEYS, EXPECTED_OUTCOME}.intersection(work_input)):
        message = f"Agents read the input: {key} belongs into {'science' if key == EXPECTED_OUTCOME else 'evaluation'}"
        yield Problem(path=f"/input/{key}", code="evaluation_in_input", message=message)
