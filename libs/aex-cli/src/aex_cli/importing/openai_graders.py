"""Translation of single OpenAI graders: string_check, text_similarity, python and multi.

The graders of the Evals API and of fine-tuning have the same shapes. The graded text is `{{sample.output_text}}`.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from aex_cli.importing.checks import TEXT, Check, CheckGroup, Item, NotTranslatable, make_pattern_check
from aex_cli.importing.formulas import read_weighted_mean
from aex_cli.importing.literal_patterns import build_equality_pattern, build_terms_pattern
from aex_cli.importing.sandbox_code import build_grade_code
from aex_cli.importing.templates import Template, Variable, fill_template, list_variables, parse_template
from aex_models.numbers import is_finite_number
from aex_outcomes.catalog import Catalog

NEEDED: Mapping[str, Mapping[str, type]] = {
    "string_check": {"input": str, "reference": str, "operation": str},
    "text_similarity": {"input": str, "reference": str, "evaluation_metric": str},
    "python": {"source": str},
    "multi": {"graders": dict, "calculate_output": str},
}
"""Fields that each type of grader needs, with their JSON types."""
_MODELS = frozenset({"score_model", "label_model"})
_OUTPUT = (Variable(("sample", "output_text")),)
_SIMILARITIES: Mapping[str, tuple[str, str]] = {
    "fuzzy_match": ("fuzzy_ratio", "numeric"),
    "bleu": ("bleu_score", "bleu_score"),
    **{f"rouge_{each}": (f"rouge{each}", "rouge_score") for each in range(1, 6)},
    "rouge_l": ("rougeL", "rouge_score"),
}
"""Metric and metric type of each similarity."""


def translate_grader(grader: Mapping[str, Any], item: Mapping[str, Any], catalog: Catalog) -> Item:
    """Return a grader of the right shape as a check or group, filled from one row.

    `item`: the row's item. `catalog`: the metrics that exist. Raises `NotTranslatable`.
    """
    kind, name = grader["type"], str(grader.get("name") or grader["type"])
    scope = {"item": item}
    if kind in _MODELS:
        raise NotTranslatable("needs_model", f"{kind}: a model gives this score")
    if kind == "string_check":
        return _translate_string_check(name, grader, scope)
    if kind == "text_similarity":
        return _translate_similarity(name, grader, scope, catalog)
    if kind == "python":
        threshold = _read_threshold(grader)
        code = build_grade_code(grader["source"], item, threshold)
        return Check(name, "custom", "custom", "gte", threshold, code=code)
    if kind == "multi":
        return _translate_multi(grader, item, catalog)
    raise NotTranslatable("unsupported", f"{kind}: not a type of grader that has a translation")


def _translate_string_check(name: str, grader: Mapping[str, Any], scope: Mapping[str, Any]) -> Check:
    operation = grader["operation"]
    left, right = (parse_template(grader[key], has_statements=False) for key in ("input", "reference"))
    if right == _OUTPUT and operation in {"eq", "ne"}:
        left, right = right, left
    expected = _fill_reference(left, right, scope)
    match operation:
        case "eq" | "ne":
            return make_pattern_check(name, build_equality_pattern(expected), negated=operation == "ne")
        case "like" | "ilike":
            return make_pattern_check(name, build_terms_pattern([expected], ignore_case=operation == "ilike"))
    raise NotTranslatable("unsupported", f"the operation {operation} is none of eq, ne, like and ilike")


def _fill_reference(graded: Template, reference: Template, scope: Mapping[str, Any]) -> str:
    """Return the reference's text. Raises `NotTranslatable` unless the graded text is the output alone."""
    if graded != _OUTPUT:
        raise NotTranslatable("template", "the graded text is not {{sample.output_text}} alone")
    if any(each.steps[0] == "sample" for each in list_variables(reference)):
        raise NotTranslatable("template", "the reference depends on the sample")
    return fill_template(reference, scope)


def _translate_similarity(name: str, grader: Mapping[str, Any], scope: Mapping[str, Any], catalog: Catalog) -> Check:
    similarity, threshold = grader["evaluation_metric"], _read_threshold(grader)
    if similarity == "cosine":
        raise NotTranslatable("needs_model", "cosine: a model embeds the texts")
    metric, metric_type = _SIMILARITIES.get(similarity, ("", ""))
    if metric not in catalog:
        raise NotTranslatable("unsupported", f"{similarity}: no metric computes it with the same formula")
    if not 0 <= threshold <= 1:
        raise NotTranslatable("threshold", "pass_threshold is outside 0 to 1, the range of every similarity")
    graded, reference = (parse_template(grader[key], has_statements=False) for key in ("input", "reference"))
    expected = _fill_reference(graded, reference, scope)
    if not expected:
        raise NotTranslatable("template", "the reference is empty")
    return Check(name, metric, metric_type, "gte", threshold, {"reference": expected, "at": TEXT})


def _read_threshold(grader: Mapping[str, Any]) -> float:
    threshold = grader.get("pass_threshold")
    if threshold is None or not is_finite_number(threshold):
        raise NotTranslatable("threshold", f"{grader['type']}: it has no pass_threshold, so nothing says what passes")
    return float(threshold)


def _translate_multi(grader: Mapping[str, Any], item: Mapping[str, Any], catalog: Catalog) -> CheckGroup:
    """Return a group with the formula's weights, which passes at `pass_threshold`, or at 1 without one."""
    threshold = grader.get("pass_threshold", 1)
    if not is_finite_number(threshold) or not 0 <= threshold <= 1:
        raise NotTranslatable("threshold", "pass_threshold is no number from 0 to 1")
    weights = read_weighted_mean(grader["calculate_output"], grader["graders"])
    for key in weights:
        if grader["graders"][key]["type"] not in {"string_check", *_MODELS}:
            why = f"the mean counts shares of {key}, but a criterion is met or not: only string_check is 0 or 1"
            raise NotTranslatable("formula", why)
    return CheckGroup(
        tuple(_weigh(key, translate_grader(grader["graders"][key], item, catalog), weights[key]) for key in weights),
        minimum=threshold,
    )


def _weigh(name: str, item: Item, weight: Fraction) -> Item:
    weighted = replace(item, weight=float(weight))
    return replace(weighted, name=name) if isinstance(weighted, Check) else weighted
