"""A verdict in words: what decided it, and for each criterion whether it is met and why not. Pure."""

from collections.abc import Sequence

from aex_cli.offline.science_report import gate_in_short
from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.criteria import Aggregation, SuccessCriteria
from aex_models.faults import Fault
from aex_models.money import format_amount
from aex_models.numbers import is_number, text_of
from aex_models.results import (
    CUSTOM_METRIC_FAILED,
    METRIC_MISSING,
    CriterionResult,
    Provenance,
    VerificationResult,
)
from aex_models.work import Budget
from aex_outcomes.catalog import Catalog
from aex_outcomes.extractors.classification import ClassificationExtractor
from aex_outcomes.extractors.contains import ContainsExtractor
from aex_outcomes.extractors.latency import LatencyExtractor
from aex_outcomes.extractors.science import ScienceExtractor
from aex_outcomes.extractors.statistics import StatisticsExtractor
from aex_outcomes.extractors.text_quality import TextQualityExtractor
from aex_outcomes.in_words import needed

COLUMNS = ("metric", "value", "needs", "met", "must", "weight", "money", "source")
NUMBERS = ("value", "weight")
FOLDED = "needs"
NOTHING = "–"
_SOURCES = {
    Provenance.COMPUTED: "computed",
    Provenance.MEASURED: "measured",
    Provenance.SELF_REPORTED: "reported",
}


def criterion_rows(result: VerificationResult) -> list[tuple[str, ...]]:
    """One row for each criterion, in the columns above. `must`: required; `money`: its bonus and its penalty."""
    return [
        (
            each.metric,
            _value(each),
            needed(each),
            "yes" if each.met else "no",
            "yes" if each.required else "no",
            f"{each.weight:g}",
            _money(each),
            _SOURCES[each.provenance] if each.provenance else NOTHING,
        )
        for each in result.criterion_results
    ]


def _money(result: CriterionResult) -> str:
    bonus = [f"+{format_amount(result.bonus)}"] if result.bonus else []
    penalty = [f"-{format_amount(result.penalty)}"] if result.penalty else []
    return " ".join([*bonus, *penalty]) or NOTHING


def reasons(result: VerificationResult, catalog: Catalog) -> list[str]:
    """Why each criterion that is not met is not."""
    return [f"{each.metric}: {_why_not(each, catalog)}" for each in result.criterion_results if not each.met]


def _value(result: CriterionResult) -> str:
    if result.error is not None:
        return "missing" if result.error.code == METRIC_MISSING else NOTHING
    return _written(result.value)


def _written(value: float | bool | None) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if is_number(value) and not isinstance(value, int) else str(value)


def _why_not(result: CriterionResult, catalog: Catalog) -> str:
    error, wanted = result.error, needed(result)
    if error is not None:
        failure = "code" if error.code == CUSTOM_METRIC_FAILED else "verifier"
        whose = f"; the {failure}'s failure, not the agent's" if error.fault is Fault.PLATFORM else ""
        what = f"missing, {_absent(result, catalog)}" if error.code == METRIC_MISSING else error.message
        return f"{what} ({error.code}), needs {wanted}{whose}"
    if result.comparison.value in {"contains_all", "contains_any"}:
        return f"{_written(result.value)} of the terms found, needs {wanted}"
    return f"{_written(result.value)}, needs {wanted}"


def _absent(result: CriterionResult, catalog: Catalog) -> str:
    """What is not there that the metric is made of."""
    extractor = catalog.extractors[catalog.sources[result.metric]]
    if isinstance(extractor, TextQualityExtractor | ContainsExtractor):
        return f"the output has no text at {extractor.text_pointer or 'its root'}"
    if isinstance(extractor, ClassificationExtractor) and result.metric != "confidence":
        return f"the output has no list at {extractor.predictions_pointer or 'its root'}"
    if result.provenance is Provenance.MEASURED:
        return f"nobody has measured it here: see --{result.metric.replace('_', '-')}"
    if isinstance(extractor, StatisticsExtractor | ScienceExtractor):
        return "nothing was recomputed or checked that tells it"
    return "the metadata do not tell it" if isinstance(extractor, LatencyExtractor) else "the output does not give it"


def decided(criteria: SuccessCriteria | None, result: VerificationResult) -> str:
    """What the engine's verdict rests on."""
    gate = gate_in_short(result.science) if result.science else None
    if criteria is None:
        return gate or "no criteria: delivered"
    told = _by_criteria(criteria, result)
    return f"{gate}; {told}" if gate else told


def _by_criteria(criteria: SuccessCriteria, result: VerificationResult) -> str:
    results = result.criterion_results
    unknown = [each.metric for each in results if each.error and each.error.fault is Fault.PLATFORM]
    if unknown:
        return f"not the agent's fault: {_listed(unknown)} could not be computed"
    blocking = [each.metric for each in results if each.required and not each.met]
    if blocking:
        return f"required and not met: {_listed(blocking)}"
    met = sum(each.met for each in results)
    count = f"{met} of {len(results)} criteria met"
    if criteria.aggregation is Aggregation.WEIGHTED:
        minimum = text_of(criteria.minimum_weighted_score)
        return f"{count}; weighted score {result.weighted_score:.6g}, needs {minimum}"
    if criteria.aggregation is Aggregation.ANY:
        return f"{count}; any one decides"
    return f"{count}; all that are required"


def amounts(result: VerificationResult, budget: Budget | None) -> str:
    """The verified bonus and penalty and, with a budget, what that costs where the award is at `max_cpc`."""
    told = f"bonus {format_amount(result.bonus)}, penalty {format_amount(result.penalty)}"
    if budget is None:
        return told
    paid = cost(Terms.of(budget, budget.max_cpc), result)
    sums = f"{format_amount(paid.base)} + {format_amount(paid.bonus)} - {format_amount(paid.penalty)}"
    return f"{told}; at max_cpc it costs {sums} = {format_amount(paid.total)} {paid.currency}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))
