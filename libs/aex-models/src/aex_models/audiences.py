"""Audiences, and the projection of a model to the fields that an audience may read.

Everything that leaves the platform passes `project`. It refuses a model without an allow-list, and leaves out each
field that the allow-list does not name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import BaseModel

from aex_models.allowlists import ALLOWED
from aex_models.contract_events import PLATFORM_CODES, ContractEvent
from aex_models.examination import DomainViolation, Fault, MixedGroups, ValueMismatch
from aex_models.results import CUSTOM_METRIC_FAILED, METRIC_MISSING, CriterionError, CriterionResult, VerificationResult
from aex_models.science import ScienceResult
from aex_models.settlement import CostLine
from aex_models.work import FeedbackLevel


class Audience(StrEnum):
    """The kind of reader of an answer. The values are the roles of bearer tokens."""

    CONSUMER = "consumer"
    AGENT = "agent"
    FINANCE = "finance"
    OPERATOR = "operator"
    SERVICE = "service"


class NotForAudience(LookupError):
    """The error for a model without an allow-list, which must not leave the platform."""


@dataclass(frozen=True, slots=True)
class Disclosure:
    """The settings of one record that hide fields which the allow-lists would show.

    `level`: how much an agent sees of values computed from evaluation data. `output`: True if a consumer may read the
    candidate and what was measured on it. The consumer must have paid for the candidate: the outcome is a success, or
    any revision of its cost has a total above 0.
    """

    level: FeedbackLevel = FeedbackLevel.CRITERIA
    output: bool = False


def project(model: BaseModel, audience: Audience, disclosure: Disclosure | None = None) -> dict[str, Any]:
    """Return the fields of `model` that `audience` may read, as JSON-ready values.

    Without a `disclosure`, the model's own feedback level applies, and a consumer sees no output.
    Raises `NotForAudience` for a model without an allow-list.
    """
    shown = disclosure or Disclosure(level=getattr(model, "disclosure", FeedbackLevel.CRITERIA))
    return _prune(model, model.model_dump(mode="json"), audience, shown)


def project_event_data(model: BaseModel) -> dict[str, Any]:
    """Return the fields of an event's data that are published: those that services may read."""
    return project(model, Audience.SERVICE)


def _prune(model: BaseModel, dumped: dict[str, Any], audience: Audience, shown: Disclosure) -> dict[str, Any]:
    hidden, values = _withheld_fields(model, audience, shown), model.__dict__
    pruned = {
        # Only objects and lists can hold models.
        name: _prune_value(values[name], plain, audience, shown) if type(plain := dumped[name]) in _NESTING else plain
        for name in _allowed_fields(type(model), audience)
        if name not in hidden
    }
    if isinstance(model, VerificationResult):
        pruned |= {name: _narrow_metrics(model, pruned[name], audience, shown) for name in _BY_METRIC & pruned.keys()}
    return pruned | _select_extra_fields(model, dumped, audience) if model.__pydantic_extra__ else pruned


_NESTING = frozenset({dict, list})
_BY_METRIC = frozenset({"metrics", "provenance"})


@cache
def _allowed_fields(kind: type[BaseModel], audience: Audience) -> tuple[str, ...]:
    """Return the fields of a model that its allow-list names for this audience, in the model's order."""
    rows = ALLOWED.get(kind)
    if rows is None:
        raise NotForAudience(f"{kind.__name__} has no allow-list")
    return tuple(name for name in kind.model_fields if name in rows[audience.value])


def _prune_value(value: Any, dumped: Any, audience: Audience, shown: Disclosure) -> Any:
    """Return the value with each model in it reduced to its allowed fields; `dumped` is its JSON form."""
    if isinstance(value, BaseModel):
        return _prune(value, dumped, audience, shown)
    if isinstance(value, tuple | list) and _has_models(value):
        return [_prune_value(item, plain, audience, shown) for item, plain in zip(value, dumped, strict=True)]
    if isinstance(value, Mapping) and _has_models(value.values()):
        return {key: _prune_value(item, dumped[str(key)], audience, shown) for key, item in value.items()}
    return dumped


def _has_models(items: Iterable[Any]) -> bool:
    return any(isinstance(item, BaseModel) for item in items)


def _select_extra_fields(model: BaseModel, dumped: dict[str, Any], audience: Audience) -> dict[str, Any]:
    """Return the undeclared fields of an open model, if the audience may read any of its fields."""
    rows = ALLOWED[type(model)]
    extra = model.__pydantic_extra__ or {}
    return {name: dumped[name] for name in extra} if rows[audience.value] else {}


def _withheld_fields(model: BaseModel, audience: Audience, shown: Disclosure) -> frozenset[str]:
    """Return the fields that this record hides from the audience although the allow-list names them."""
    if audience is Audience.CONSUMER and not shown.output:
        has_own_code = isinstance(model, ContractEvent) and model.code not in {None, *PLATFORM_CODES}
        return _UNPAID.get(type(model).__name__, frozenset()) | (frozenset({"code"}) if has_own_code else frozenset())
    if isinstance(model, CriterionError) and model.code == CUSTOM_METRIC_FAILED:
        # The message of failed custom code may quote evaluation data, so only the consumer sees it.
        return frozenset() if audience is Audience.CONSUMER else frozenset({"message"})
    if audience is not Audience.AGENT or shown.level is FeedbackLevel.FULL:
        return frozenset()
    if isinstance(model, VerificationResult) and shown.level is FeedbackLevel.NONE:
        return _HIDDEN_AT_LEVEL_NONE
    if isinstance(model, ValueMismatch | DomainViolation) and model.secret:
        return _OF_SECRET_DATA
    if isinstance(model, MixedGroups) and model.secret:
        return frozenset({"groups", "where"})
    if isinstance(model, CriterionResult | CostLine) and (model.secret or shown.level is FeedbackLevel.NONE):
        return frozenset({"value"}) | ({"error"} if _depends_on_evaluation(model) else frozenset())
    if isinstance(model, CriterionError):
        return frozenset({"message"})  # it may count evaluation data
    return frozenset()


def _depends_on_evaluation(model: CriterionResult | CostLine) -> bool:
    """Return whether an error may depend on evaluation data, such as the number of true labels."""
    error = getattr(model, "error", None)
    return error is not None and error.fault is Fault.AGENT and error.code != METRIC_MISSING


_HIDDEN_AT_LEVEL_NONE = frozenset(
    {"criterion_results", "metrics", "provenance", "weighted_score", "bonus", "penalty", "science"}
)
"""Fields hidden from the agent at feedback level `none`: each would reveal which criteria were met."""

_OF_SECRET_DATA = frozenset({"actual", "relative_error", "severity", "value", "message"})
"""Fields of a mismatch or violation that would reveal the consumer's own data."""

_UNPAID = {
    "Contract": frozenset({"last_feedback"}),
    "ContractEvent": frozenset({"message"}),
    "Attempt": frozenset({"candidate", "result", "feedback", "candidate_hash", "output_hash"}),
    "OutcomeRecord": frozenset({"final_result", "execution_metadata"}),
    "VerificationResult": frozenset({"metrics", "provenance", "details", "candidate_hash"}),
    "CriterionResult": frozenset({"value", "error", "provenance"}),
    "CostLine": frozenset({"value"}),
    "ScienceResult": frozenset(ScienceResult.model_fields) - {"passed", "reasons"},
    "GateReason": frozenset({"names", "message"}),
    "Flag": frozenset({"message"}),
}
"""Fields that an unpaid delivery hides from its consumer: any value could encode the output.

The verdict remains: which criteria were met. A hash would reveal short answers by trial.
"""


def _narrow_metrics(model: VerificationResult, pruned: Any, audience: Audience, shown: Disclosure) -> Any:
    """Return a mapping by metric without the metrics that an agent may not see."""
    if audience is not Audience.AGENT or shown.level is FeedbackLevel.FULL:
        return pruned
    told = {each.metric for each in model.criterion_results if not each.secret}
    told -= {each.metric for each in model.criterion_results if each.secret}
    return {metric: item for metric, item in pruned.items() if metric in told}
