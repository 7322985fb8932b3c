"""Check of a body's criteria against the catalogue: known metrics, metric types, evaluation data."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic import ValidationError

from aex_models.criteria import SuccessCriteria, SuccessCriterion, build_criterion_identity_key
from aex_models.evaluation import EVALUATION_KEYS, KEYS_ALLOWED_IN_INPUT
from aex_models.thresholds import MetricType
from aex_models.validation_messages import format_suggestion
from aex_models.work import Problem
from aex_outcomes.catalog import (
    Catalog,
    InvalidMetricType,
    TooManyCriteria,
    UnknownMetric,
    is_absent,
    supplied_evaluation,
)
from aex_outcomes.extractors.custom import CUSTOM_METRICS, list_declared_code_names
from aex_outcomes.extractors.protocol import check_evaluation, restrict_to_metrics_if_supported
from aex_outcomes.json_values import join_pointer
from aex_outcomes.metric_names import (
    ANY_NAME,
    ANY_STATISTIC,
    is_custom_metric,
    is_statistic_metric,
    parse_custom_metric_name,
)
from aex_outcomes.submission.findings import CRITERIA
from aex_outcomes.submission.science import check_metric_requirements, check_statistic_metric, parse_valid_statistics

SCIENCE_METRICS = frozenset(
    {
        "values_plausible", "values_consistent", "domain_violations", "value_mismatches",
        "claims_not_recomputed", "answers_question", "reasoning_sound", "scientific_validity",
        "review_confidence",
    }
)  # fmt: skip
EXPECTED_OUTCOME = "expected_outcome"
"""Field of a work's `science` that agents must not read."""
MAX_CRITERIA_CHECKED = 100
"""Maximum of criteria that are checked one by one."""
MAX_NAMES_CHECKED = 20
"""Maximum of named data that are checked; more are a problem of shape."""
MAX_NAME = 128
"""Maximum characters of a metric's name."""


@dataclass(frozen=True, slots=True)
class _Context:
    """Other parts of the body, and the catalogue, for the check of a criterion."""

    evaluation: Mapping[str, Any]
    science: Any
    catalog: Catalog
    """Catalogue with the work's own statistics."""
    has_reviewer: bool


def check_body_criteria(
    body: Mapping[str, Any], catalog: Catalog, *, has_reviewer: bool = False, parsed: SuccessCriteria | None = None
) -> Iterator[Problem]:
    """Yield problems of a body's criteria that the model does not find; malformed criteria are skipped.

    `has_reviewer`: peer reviews are available, which some metrics need. `parsed`: the body's criteria if they are
    already validated.
    """
    criteria = body.get("success_criteria")
    listed = criteria.get("criteria") if isinstance(criteria, Mapping) else None
    if not isinstance(listed, list | tuple):
        return
    if len(listed) > catalog.max_criteria:
        message = str(TooManyCriteria(catalog.max_criteria, len(listed)))
        yield Problem(path=f"{CRITERIA}/criteria", code="too_many_criteria", message=message)
    evaluation, science = body.get("evaluation"), body.get("science")
    evaluation_data = evaluation if isinstance(evaluation, Mapping) else {}
    context = _Context(evaluation_data, science, catalog.with_statistics(parse_valid_statistics(science)), has_reviewer)
    parsed_each = parsed.criteria if parsed else map(_parse_criterion, listed)
    checked = list(islice(zip(listed, parsed_each, strict=False), MAX_CRITERIA_CHECKED))
    yield from _duplicates([criterion for _, criterion in checked])
    for position, (raw, criterion) in enumerate(checked):
        metric = raw.get("metric") if isinstance(raw, Mapping) else None
        if isinstance(metric, str) and 0 < len(metric) <= MAX_NAME:  # another name is a problem of shape
            yield from _criterion_problems(raw, criterion, f"{CRITERIA}/criteria/{position}", context)


def _duplicates(listed: Sequence[SuccessCriterion | None]) -> Iterator[Problem]:
    """Yield a problem for each repeated criterion if some are malformed; else the model reports them."""
    if None not in listed:
        return
    first_of: dict[str, int] = {}
    for position, criterion in enumerate(listed):
        if (
            criterion is not None
            and (first := first_of.setdefault(build_criterion_identity_key(criterion), position)) != position
        ):
            parts = f"metric {criterion.metric}, comparison and threshold"
            message = f"Criteria {first} and {position} are the same: {parts}"
            yield Problem(path=f"{CRITERIA}/criteria", code="duplicate_criterion", message=message)


def _parse_criterion(raw: Any) -> SuccessCriterion | None:
    """Return the criterion; None if it is malformed, which is reported elsewhere."""
    try:
        return SuccessCriterion.model_validate(raw)
    except ValidationError:
        return None


def _criterion_problems(
    raw: Mapping[str, Any], criterion: SuccessCriterion | None, path: str, context: _Context
) -> Iterator[Problem]:
    catalog, evaluation = context.catalog, context.evaluation
    unknown = _unknown_metric(raw["metric"], f"{path}/metric", context)
    if unknown:
        yield unknown
        return
    entry = catalog.entry(raw["metric"])
    if raw.get("metric_type") in [each for each in MetricType if each not in entry.metric_types]:
        message = str(InvalidMetricType(entry))
        yield Problem(path=f"{path}/metric_type", code="invalid_metric_type", message=message)
    if criterion is not None:
        yield from _threshold_problems(criterion, path, entry.needs, catalog)
    # The threshold of a criterion of a wrong shape may supply its needs.
    is_supplied = criterion is None and isinstance(raw.get("threshold"), list | Mapping)
    needed = catalog.required_evaluation_keys(criterion) if criterion else () if is_supplied else entry.needs
    yield from _missing_data(entry.name, needed, context)
    name, declared = parse_custom_metric_name(entry.name), list_declared_code_names(evaluation)
    if name is not None and not is_absent(evaluation.get(CUSTOM_METRICS)) and name not in declared:
        message = f"{entry.name} needs the code {name} in evaluation.{CUSTOM_METRICS}"
        yield Problem(path=f"/evaluation/{CUSTOM_METRICS}", code="evaluation_missing", message=message)
    yield from check_metric_requirements(entry, f"{path}/metric", context.science, has_reviewer=context.has_reviewer)


def _missing_data(metric: str, keys: Iterable[str], context: _Context) -> Iterator[Problem]:
    """Yield a problem for each key that evaluation data lack; for METRIC.NAME, that the named data lack."""
    split, data, path = context.catalog.sources.split_named(metric), context.evaluation, ["evaluation"]
    if split is not None:
        path, named = ["evaluation", "named", split.name], data.get("named")
        own = named.get(split.name) if isinstance(named, Mapping) else None
        if own is None:
            message = f"{metric} needs {'.'.join(path)}"
            yield Problem(path=f"/{'/'.join(path)}", code="evaluation_missing", message=message)
        if not isinstance(own, Mapping):
            return
        data = own
    for key in keys:
        if is_absent(data.get(key)):
            message = f"{metric} needs {'.'.join([*path, key])}"
            yield Problem(path=f"/{'/'.join([*path, key])}", code="evaluation_missing", message=message)


def _unknown_metric(metric: str, path: str, context: _Context) -> Problem | None:
    catalog = context.catalog
    if metric in catalog and metric not in (ANY_NAME, ANY_STATISTIC):
        return check_statistic_metric(metric, path, context.science)
    code, message = "unknown_metric", str(UnknownMetric(metric))
    if is_custom_metric(metric) and ANY_NAME in catalog:
        message += " (custom.NAME or custom.NAME.KEY is expected)"
    elif is_custom_metric(metric):
        code, message = "custom_metrics_unavailable", f"Custom metrics are not available here: {metric}"
    elif is_statistic_metric(metric) and ANY_STATISTIC in catalog:
        message += " (stat.NAME is expected)"
    elif metric in SCIENCE_METRICS or is_statistic_metric(metric):
        code, message = "science_unavailable", f"Scientific verification is not available here: {metric}"
    else:
        message += format_suggestion(metric, catalog.sources)
    return Problem(path=path, code=code, message=message)


def _threshold_problems(
    criterion: SuccessCriterion, path: str, needs: Collection[str], catalog: Catalog
) -> Iterator[Problem]:
    """Yield problems of terms or a schema in the threshold that are invalid or not for this metric."""
    supplied = supplied_evaluation(criterion)
    if not supplied:
        return
    invalid = f"Invalid threshold for metric: {criterion.metric}"
    if not set(supplied) <= set(needs):
        message = f"{invalid} ({', '.join(supplied)} is not what this metric takes)"
        yield Problem(path=f"{path}/threshold", code="invalid_threshold", message=message)
        return
    extractor = catalog.extractors[catalog.sources[criterion.metric]]
    for problem in check_evaluation(extractor, supplied):
        pointer = "/".join([f"{path}/threshold", *problem.path.split("/", 2)[2:]])
        yield Problem(path=pointer, code=problem.code, message=f"{invalid} ({problem.message})")


def check_evaluation_data(body: Mapping[str, Any], catalog: Catalog) -> Iterator[Problem]:
    """Yield problems of a body's evaluation data: those that extractors find, and data in the input.

    Evaluation data in `input` are a problem, because agents read the input.
    """
    evaluation, work_input = body.get("evaluation"), body.get("input")
    if isinstance(evaluation, Mapping):
        metrics = _metrics_by_name(body.get("success_criteria"), catalog)
        yield from _data_problems(evaluation, "/evaluation", metrics[""], catalog)
        named = evaluation.get("named")
        for name, data in islice(named.items(), MAX_NAMES_CHECKED) if isinstance(named, Mapping) else ():
            if isinstance(data, Mapping):
                yield from _data_problems(data, join_pointer("evaluation", "named", name), metrics[name], catalog)
        if evaluation.get(CUSTOM_METRICS) and ANY_NAME not in catalog:
            message = "Custom metrics are not available here"
            yield Problem(path="/evaluation/custom_metrics", code="custom_metrics_unavailable", message=message)
    if isinstance(work_input, Mapping):
        present = set(evaluation) if isinstance(evaluation, Mapping) else set()
        refused = EVALUATION_KEYS - (KEYS_ALLOWED_IN_INPUT - present)
        for key in sorted({*refused, EXPECTED_OUTCOME}.intersection(work_input)):
            home = "science" if key == EXPECTED_OUTCOME else "evaluation"
            message = f"Agents read the input: {key} belongs into {home}"
            yield Problem(path=f"/input/{key}", code="evaluation_in_input", message=message)


def _metrics_by_name(criteria: Any, catalog: Catalog) -> defaultdict[Any, set[str]]:
    """Return METRIC of each criterion's METRIC.NAME, by NAME; other metrics have an empty name."""
    metrics: defaultdict[Any, set[str]] = defaultdict(set)
    listed = criteria.get("criteria") if isinstance(criteria, Mapping) else None
    for raw in islice(listed, MAX_CRITERIA_CHECKED) if isinstance(listed, list | tuple) else ():
        metric = raw.get("metric") if isinstance(raw, Mapping) else None
        if isinstance(metric, str) and len(metric) <= MAX_NAME:
            split = catalog.sources.split_named(metric)
            metrics[split.name if split else ""].add(split.metric if split else metric)
    return metrics


def _data_problems(data: Mapping[str, Any], root: str, metrics: Collection[str], catalog: Catalog) -> Iterator[Problem]:
    """Yield the problems that extractors find in evaluation data at the JSON pointer `root`.

    `metrics`: metrics that the criteria compute from these data, to which extractors restrict their check.
    """
    for extractor in catalog.extractors.values():
        restricted = restrict_to_metrics_if_supported(extractor, frozenset(metrics))
        for problem in check_evaluation(restricted, data):
            yield problem.model_copy(update={"path": f"{root}{problem.path}"})
