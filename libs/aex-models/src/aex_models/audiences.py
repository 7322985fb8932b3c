"""Who may see what: one allow-list for each model and audience, and the only way to serialise outward.

What is not named here stays inside: a model without a row is refused, a field in no row is left out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import BaseModel

from aex_models.allowlists import ALLOWED
from aex_models.examination import DomainViolation, ValueMismatch
from aex_models.faults import Fault
from aex_models.results import CUSTOM_METRIC_FAILED, METRIC_MISSING, CriterionError, CriterionResult, VerificationResult
from aex_models.settlement import CostLine
from aex_models.work import FeedbackLevel


class Audience(StrEnum):
    """Who reads an answer; the same words as the roles."""

    CONSUMER = "consumer"
    AGENT = "agent"
    FINANCE = "finance"
    OPERATOR = "operator"
    SERVICE = "service"


class NotForAudience(LookupError):
    """No allow-list names this model: it does not leave the platform."""


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What a particular record allows beyond the allow-lists.

    `level`: how much an agent is told of values computed from evaluation data.
    `output`: whether a consumer may read the candidate yet (final, with success or a total above 0).
    """

    level: FeedbackLevel = FeedbackLevel.CRITERIA
    output: bool = False


def project(model: BaseModel, audience: Audience, disclosure: Disclosure | None = None) -> dict[str, Any]:
    """The JSON-ready view of `model` for `audience`. Raises `NotForAudience` where no allow-list names it."""
    shown = disclosure or Disclosure(level=getattr(model, "disclosure", FeedbackLevel.CRITERIA))
    return _prune(model, model.model_dump(mode="json"), audience, shown)


def project_event(model: BaseModel) -> dict[str, Any]:
    """The view of an event's data: what every service, and whoever subscribes, may see."""
    return project(model, Audience.SERVICE)


def _prune(model: BaseModel, dumped: dict[str, Any], audience: Audience, shown: Disclosure) -> dict[str, Any]:
    hidden, values = _hidden(model, audience, shown), model.__dict__
    pruned = {
        # Only what is an object or a list as JSON can hold models.
        name: _prune_value(values[name], plain, audience, shown) if type(plain := dumped[name]) in _NESTING else plain
        for name in _shown(type(model), audience)
        if name not in hidden
    }
    if isinstance(model, VerificationResult):
        pruned |= {name: _narrowed(model, pruned[name], audience, shown) for name in _BY_METRIC & pruned.keys()}
    return pruned | _extras(model, dumped, audience) if model.__pydantic_extra__ else pruned


_NESTING = frozenset({dict, list})
_BY_METRIC = frozenset({"metrics", "provenance"})


@cache
def _shown(kind: type[BaseModel], audience: Audience) -> tuple[str, ...]:
    """The fields that the allow-list of a model names for this audience, in their order."""
    rows = ALLOWED.get(kind)
    if rows is None:
        raise NotForAudience(f"{kind.__name__} has no allow-list")
    return tuple(name for name in kind.model_fields if name in rows[audience.value])


def _prune_value(value: Any, dumped: Any, audience: Audience, shown: Disclosure) -> Any:
    """Models are pruned wherever a field holds them, in a list or a mapping too; plain JSON is not walked through."""
    if isinstance(value, BaseModel):
        return _prune(value, dumped, audience, shown)
    if isinstance(value, tuple | list) and _has_models(value):
        return [_prune_value(item, plain, audience, shown) for item, plain in zip(value, dumped, strict=True)]
    if isinstance(value, Mapping) and _has_models(value.values()):
        return {key: _prune_value(item, dumped[str(key)], audience, shown) for key, item in value.items()}
    return dumped


def _has_models(items: Iterable[Any]) -> bool:
    return any(isinstance(item, BaseModel) for item in items)


def _extras(model: BaseModel, dumped: dict[str, Any], audience: Audience) -> dict[str, Any]:
    """Fields of an open model (execution metadata): whoever sees the model sees them."""
    rows = ALLOWED[type(model)]
    extra = model.__pydantic_extra__ or {}
    return {name: dumped[name] for name in extra} if rows[audience.value] else {}


def _hidden(model: BaseModel, audience: Audience, shown: Disclosure) -> frozenset[str]:
    """Fields that the record itself withholds from this audience."""
    if isinstance(model, CriterionError) and model.code == CUSTOM_METRIC_FAILED:
        # What custom code says when it fails is the consumer's, like the code: it may quote evaluation data.
        return frozenset() if audience is Audience.CONSUMER else frozenset({"message"})
    if audience is Audience.CONSUMER and not shown.output:
        return _UNPAID.get(type(model).__name__, frozenset())
    if audience is not Audience.AGENT or shown.level is FeedbackLevel.FULL:
        return frozenset()
    if isinstance(model, VerificationResult) and shown.level is FeedbackLevel.NONE:
        return _UNTOLD
    if isinstance(model, ValueMismatch | DomainViolation) and model.secret:
        return _OF_SECRET_DATA
    if isinstance(model, CriterionResult | CostLine) and (model.secret or shown.level is FeedbackLevel.NONE):
        return frozenset({"value"}) | ({"error"} if _tells_of_evaluation(model) else frozenset())
    if isinstance(model, CriterionError):
        return frozenset({"message"})  # it may count what is in the evaluation data
    return frozenset()


def _tells_of_evaluation(model: CriterionResult | CostLine) -> bool:
    """Whether an error may depend on evaluation data: that there are more predictions than true labels does."""
    error = getattr(model, "error", None)
    return error is not None and error.fault is Fault.AGENT and error.code != METRIC_MISSING


_UNTOLD = frozenset({"criterion_results", "metrics", "provenance", "weighted_score", "bonus", "penalty", "science"})
"""What feedback level `none` keeps from the agent: each would tell which criteria were met."""

_OF_SECRET_DATA = frozenset({"actual", "relative_error", "severity", "value", "message"})
"""Of a mismatch or violation that was found in the consumer's own data: each tells of them."""

_UNPAID = {
    "Contract": frozenset({"last_feedback"}),
    "ContractEvent": frozenset({"message"}),
    "Attempt": frozenset({"candidate", "result", "feedback", "candidate_hash", "output_hash"}),
    "OutcomeRecord": frozenset({"final_result", "execution_metadata"}),
    "VerificationResult": frozenset({"candidate_hash"}),
    "ScienceResult": frozenset({"value_mismatches", "domain_violations", "examination", "review"}),
}
"""What a consumer does not see of a delivery that it does not pay for. Hashes give short answers away by trial."""


def _narrowed(model: VerificationResult, pruned: Any, audience: Audience, shown: Disclosure) -> Any:
    """A pruned mapping by metric, less the entries that the agent may not see."""
    if audience is not Audience.AGENT or shown.level is FeedbackLevel.FULL:
        return pruned
    told = {each.metric for each in model.criterion_results if not each.secret}
    told -= {each.metric for each in model.criterion_results if each.secret}
    return {metric: item for metric, item in pruned.items() if metric in told}
