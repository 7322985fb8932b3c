"""Verdicts, claims and costs as rows and sentences for `aex verify`."""

from collections.abc import Iterator

from aex_cli.offline.named_verifier import to_printable_line
from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.criteria import Aggregation, SuccessCriteria
from aex_models.examination import Fault
from aex_models.money import format_amount
from aex_models.numbers import format_as_written, is_finite_number
from aex_models.results import CUSTOM_METRIC_FAILED, METRIC_MISSING, CriterionResult, Provenance, VerificationResult
from aex_models.science import ScienceResult
from aex_models.work import Budget
from aex_outcomes.catalog import Catalog
from aex_outcomes.extractors.classification import ClassificationExtractor
from aex_outcomes.extractors.contains import ContainsExtractor
from aex_outcomes.extractors.latency import LatencyExtractor
from aex_outcomes.extractors.science import ScienceExtractor
from aex_outcomes.extractors.statistics import RecomputedStatisticsExtractor
from aex_outcomes.extractors.text_quality import TextQualityExtractor
from aex_outcomes.feedback import format_violation
from aex_outcomes.formatting import format_requirement, format_value
from aex_outcomes.science.mixed import format_mixing

CLAIM_COLUMNS = ("claim", "claimed", "recomputed", "off by", "result", "data")
CLAIM_NUMBERS = ("claimed", "recomputed", "off by")
VERDICT_COLUMNS = ("metric", "value", "needs", "met", "must", "weight", "money", "source")
VERDICT_NUMBERS = ("value", "weight")
_NOTHING = "–"
_LOCATED_DATA = frozenset({"numeric", "choice", "records", "ranking", "sql"})
"""Keys of evaluation data that may have a location of their own."""
_SOURCES = {Provenance.COMPUTED: "computed", Provenance.MEASURED: "measured", Provenance.SELF_REPORTED: "reported"}


def _summarize_gate(science: ScienceResult) -> str:
    codes = ", ".join(dict.fromkeys(each.code for each in science.reasons))
    if science.passed is None:
        return f"the science gate is indeterminate: {codes}"
    if not science.passed:
        return f"the science gate rejects it: {codes}"
    warnings = ", ".join(dict.fromkeys(each.code for each in science.warnings))
    return f"the science gate passes it with a warning: {warnings}" if warnings else "the science gate passes it"


def build_claim_rows(science: ScienceResult) -> list[tuple[str, ...]]:
    """Return a row of `CLAIM_COLUMNS` for each claimed or recomputed name."""
    return [
        (
            to_printable_line(each.name),
            _NOTHING if each.claimed is None else format_value(each.claimed),
            _NOTHING if each.recomputed is None else format_value(each.recomputed),
            _NOTHING if each.relative_error is None else f"{100 * each.relative_error:.3g} %",
            f"{each.severity} mismatch" if each.severity else each.status.value.replace("_", " "),
            _NOTHING if each.recomputed is None else "consumer's" if each.secret else "agent's",
        )
        for each in science.examination.reconciliation
    ]


def describe_science_findings(science: ScienceResult) -> Iterator[tuple[str, str]]:
    """Yield a label and a text for each finding of the science gate, except mismatches of claims.

    `build_claim_rows` has the mismatches among its rows. Texts may hold line breaks and control characters from agents.
    """
    for reason in science.reasons:
        if reason.code not in {"value_mismatch", "domain_violation"}:
            names = f" ({', '.join(reason.names)})" if reason.names else ""
            yield "science", f"{reason.code}{names}: {reason.message}" if reason.message else f"{reason.code}{names}"
    for violation in science.domain_violations:
        yield "violation", format_violation(violation)
    for problem in science.examination.problems:
        name = ", ".join(filter(None, (problem.artifact, problem.name)))
        yield "data", f"{name}: {problem.message} ({problem.code})" if name else f"{problem.message} ({problem.code})"
    for mixed in science.mixed_groups:
        yield "groups", format_mixing(mixed, with_groups=True)
    for finding in science.examination.findings:
        yield "note", format_violation(finding)
    if science.examination.unchecked:
        yield "unchecked", f"no range covers {', '.join(science.examination.unchecked)}"


def build_criterion_rows(result: VerificationResult) -> list[tuple[str, ...]]:
    """Return a row of `VERDICT_COLUMNS` for each criterion. `must` is yes for a required criterion."""
    return [
        (
            each.metric,
            _format_result(each),
            format_requirement(each),
            "yes" if each.met else "no",
            "yes" if each.required else "no",
            f"{each.weight:g}",
            _format_money(each),
            _SOURCES[each.provenance] if each.provenance else _NOTHING,
        )
        for each in result.criterion_results
    ]


def _format_money(result: CriterionResult) -> str:
    bonus = [f"+{format_amount(result.bonus)}"] if result.bonus else []
    penalty = [f"-{format_amount(result.penalty)}"] if result.penalty else []
    return " ".join([*bonus, *penalty]) or _NOTHING


def _format_result(result: CriterionResult) -> str:
    if result.error is not None:
        return "missing" if result.error.code == METRIC_MISSING else _NOTHING
    return _format_number(result.value)


def _format_number(value: float | bool | None) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if is_finite_number(value) and not isinstance(value, int) else str(value)


def explain_unmet_criteria(result: VerificationResult, catalog: Catalog) -> list[str]:
    """Return a sentence with the reason for each criterion that is not met."""
    return [f"{each.metric}: {_unmet_reason(each, catalog)}" for each in result.criterion_results if not each.met]


def _unmet_reason(result: CriterionResult, catalog: Catalog) -> str:
    error, threshold = result.error, format_requirement(result)
    if error is not None:
        code = "custom code" if error.code == CUSTOM_METRIC_FAILED else "verifier"
        fault = f"; a failure of the {code}, not of the agent" if error.fault is Fault.PLATFORM else ""
        reason = f"missing, {_missing_reason(result, catalog)}" if error.code == METRIC_MISSING else error.message
        return f"{reason} ({error.code}), needs {threshold}{fault}"
    if result.comparison.value in {"contains_all", "contains_any"}:
        return f"{_format_number(result.value)} of the terms found, needs {threshold}"
    return f"{_format_number(result.value)}, needs {threshold}"


def _missing_reason(result: CriterionResult, catalog: Catalog) -> str:
    extractor, entry = catalog.extractors[catalog.sources[result.metric]], catalog.entry(result.metric)
    if (split := catalog.sources.split_named(result.metric)) is not None:
        return f"the output has nothing at the location of {split.name}"
    if isinstance(extractor, TextQualityExtractor | ContainsExtractor):
        return f"the output has no text at {extractor.text_pointer or 'its root'}"
    if isinstance(extractor, ClassificationExtractor) and result.metric != "confidence":
        return f"the output has no list at {extractor.predictions_pointer or 'its root'}"
    if entry.at is not None:
        own = ", or where the evaluation data locate it" if _LOCATED_DATA.intersection(entry.needs) else ""
        return f"the output has nothing at {entry.at or 'its root'}{own}"
    if result.provenance is Provenance.MEASURED:
        return f"it is not measured offline: give --{result.metric.replace('_', '-')}"
    if isinstance(extractor, RecomputedStatisticsExtractor | ScienceExtractor):
        return "no value was recomputed or checked for it"
    return "the metadata lack it" if isinstance(extractor, LatencyExtractor) else "the output lacks it"


def summarize_verdict(criteria: SuccessCriteria | None, result: VerificationResult) -> str:
    """Return the reasons for the engine's verdict in one sentence."""
    gate = _summarize_gate(result.science) if result.science else None
    if criteria is None:
        return gate or "no criteria: delivered"
    summary = _summarize_criteria(criteria, result)
    return f"{gate}; {summary}" if gate else summary


def _summarize_criteria(criteria: SuccessCriteria, result: VerificationResult) -> str:
    results = result.criterion_results
    unknown = [each.metric for each in results if each.error and each.error.fault is Fault.PLATFORM]
    if unknown:
        return f"not the agent's fault: {', '.join(dict.fromkeys(unknown))} could not be computed"
    blocking = [each.metric for each in results if each.required and not each.met]
    if blocking:
        return f"required and not met: {', '.join(dict.fromkeys(blocking))}"
    met = sum(each.met for each in results)
    count = f"{met} of {len(results)} criteria met"
    if criteria.aggregation is Aggregation.WEIGHTED:
        minimum = format_as_written(criteria.minimum_weighted_score)
        return f"{count}; weighted score {result.weighted_score:.6g}, needs {minimum}"
    if criteria.aggregation is Aggregation.ANY:
        return f"{count}; any one decides"
    return f"{count}; all that are required"


def summarize_cost(result: VerificationResult, budget: Budget | None) -> str:
    """Return a sentence with verified bonus and penalty; with a budget, also the cost at `max_cpc`."""
    amounts = f"bonus {format_amount(result.bonus)}, penalty {format_amount(result.penalty)}"
    if budget is None:
        return amounts
    paid = cost(Terms.from_budget(budget, budget.max_cpc), result)
    sums = f"{format_amount(paid.base)} + {format_amount(paid.bonus)} - {format_amount(paid.penalty)}"
    return f"{amounts}; at max_cpc it costs {sums} = {format_amount(paid.total)} {paid.currency}"
