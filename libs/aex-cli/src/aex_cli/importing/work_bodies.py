"""Bodies of works, as `POST /v1/work` takes them, from imported rows."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from aex_cli.importing.checks import Check, NotTranslatable
from aex_cli.importing.listing import ImportedWork
from aex_cli.importing.weighting import Weighting, compute_weighting
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission import check_submission
from aex_outcomes.submission.appraisal import Appraise, appraise_work

DESCRIPTION = 'Deliver an object with the answer as its text: {"text": "…"}.'
_TITLE_CHARS = 200
_NAME_CHARS = 40
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


def build_work_body(
    work: ImportedWork, max_cpc: str, catalog: Catalog, appraise: Appraise = appraise_work
) -> dict[str, Any]:
    """Return the body of a work with its criteria and evaluation data, valid by the rules of submissions.

    `max_cpc`: budget of the work. `appraise`: see `check_submission`. Raises `NotTranslatable` if the row has no check,
    if its weights have no counterpart, or if a limit of works is exceeded.
    """
    checks = list(work.group.checks())
    if not checks:
        raise NotTranslatable("no_check", "nothing of the row was translated, so that any output would pass")
    weighting = compute_weighting(work.group, catalog.max_criteria)
    criteria, evaluation = _build_criteria(checks, weighting)
    combined: dict[str, Any] = {"criteria": criteria}
    if weighting.minimum is not None:
        combined |= {"aggregation": "weighted", "minimum_weighted_score": weighting.minimum}
    body = {
        "title": work.title[:_TITLE_CHARS],
        "description": DESCRIPTION,
        "input": dict(work.input),
        "evaluation": evaluation,
        "success_criteria": combined,
        "budget": {"max_cpc": max_cpc},
    }
    problems = check_submission(body, catalog, appraise=appraise).problems
    if problems:
        found = "; ".join(f"{each.path}: {each.message}" for each in problems[:3])
        raise NotTranslatable("invalid", f"the work would be refused: {found}")
    return {key: value for key, value in body.items() if value}


def _build_criteria(checks: Sequence[Check], weighting: Weighting) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the criteria and the evaluation data of checks.

    Equal criteria become one, with the sum of their weights.
    """
    criteria: dict[str, dict[str, Any]] = {}
    named: dict[str, Mapping[str, Any]] = {}
    codes: list[dict[str, str]] = []
    taken: set[str] = set()
    for check, weight, required in zip(checks, weighting.weights, weighting.required, strict=True):
        metric = check.metric
        if check.data is not None or check.code:
            name = _choose_name(check.name, taken)
            metric = f"{check.metric}.{name}"
            if check.code:
                codes.append({"name": name, "code": check.code})
            else:
                named[name] = check.data or {}
        criterion = {
            "metric": metric,
            "metric_type": check.metric_type,
            "comparison": check.comparison,
            "threshold": check.threshold,
            "weight": weight,
        }
        if weighting.minimum is not None and required:
            criterion["required"] = True
        first = criteria.setdefault(repr([metric, check.comparison, check.threshold]), criterion)
        if first is not criterion:
            first["weight"] += weight
            first |= {"required": True} if criterion.get("required") else {}
    evaluation: dict[str, Any] = ({"named": named} if named else {}) | ({"custom_metrics": codes} if codes else {})
    return [_drop_default_weight(each) for each in criteria.values()], evaluation


def _drop_default_weight(criterion: dict[str, Any]) -> dict[str, Any]:
    weight = criterion["weight"]
    written = {} if weight == 1 else {"weight": int(weight) if weight.is_integer() else weight}
    return {key: value for key, value in criterion.items() if key != "weight"} | written


def _choose_name(proposed: str, taken: set[str]) -> str:
    """Return a name of letters, digits, dashes and underscores that is not taken, and add it to `taken`."""
    plain = _OTHER.sub("_", proposed).strip("_-")[:_NAME_CHARS].lower() or "check"
    base = plain if plain[0].isalpha() else f"check_{plain}"
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name)
    return name
