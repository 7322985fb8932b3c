"""The criteria linter: rules for valid criteria that are probably mistakes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import combinations as pairs_of
from itertools import compress
from typing import Any

from aex_models.criteria import Aggregation, BonusPolicy, SuccessCriteria, SuccessCriterion
from aex_models.money import ZERO, format_amount
from aex_models.numbers import format_as_written
from aex_models.results import Provenance
from aex_models.science import Science
from aex_models.work import Budget, LintWarning
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.verdict import CriteriaWeights, is_required
from aex_outcomes.feasibility import (
    MAX_ENUMERATED,
    CriteriaGroup,
    EvaluationCounts,
    Met,
    count_evaluation,
    feasible_combinations,
    group_criteria,
)
from aex_outcomes.formatting import format_requirement
from aex_outcomes.kernels.rouge import is_rouge_type
from aex_outcomes.science_lint import (
    is_recomputed_from_agent_files,
    is_recomputed_metric,
    lint_science,
    make_lint_warning,
)


@dataclass(frozen=True)
class LintContext:
    """The input of the rules. `verified`: a verifier decides too."""

    criteria: SuccessCriteria
    budget: Budget | None
    extent: EvaluationCounts
    catalog: Catalog
    """The catalogue with the statistics that the science names."""
    root: str
    verified: bool
    science: Science | None

    @cached_property
    def groups(self) -> Sequence[CriteriaGroup]:
        """Return the groups of criteria that depend on each other. Raises `UnknownMetric`."""
        return group_criteria(self.criteria.criteria, self.catalog, self.extent)

    @cached_property
    def feasible(self) -> Sequence[Met]:
        """Return every feasible combination of met criteria; empty for too many criteria to enumerate."""
        count = len(self.criteria.criteria)
        return list(feasible_combinations(self.groups, count)) if count <= MAX_ENUMERATED else []

    @property
    def is_gated(self) -> bool:
        """Return True when a verifier or the science gate can prevent a success of the criteria."""
        return self.verified or self.science is not None

    def path(self, position: int) -> str:
        return f"{self.root}/criteria/{position}"


def lint(
    criteria: SuccessCriteria | None,
    *,
    budget: Budget | None = None,
    evaluation: Mapping[str, Any] | None = None,
    catalog: Catalog | None = None,
    root: str = "/success_criteria",
    verified: bool = False,
    science: Science | None = None,
    domain: str | None = None,
) -> tuple[LintWarning, ...]:
    """Return warnings about valid criteria, in the order of the rules, then about `science`.

    `root`: the JSON pointer of the criteria. `verified`: the work names a verifier. `domain`: the work's. Warnings may
    reveal evaluation data: they are for the consumer alone. Raises `UnknownMetric`.
    """
    known = (catalog or Catalog.of()).with_statistics(science.statistics if science else ())
    science_findings = lint_science(science, domain, known) if science else ()
    if criteria is None:
        return science_findings
    extent = count_evaluation(criteria.criteria, evaluation or {})
    linted = LintContext(criteria, budget, extent, known, root, verified, science)
    return (*lint_feasible(linted), *science_findings)


def lint_feasible(linted: LintContext) -> tuple[LintWarning, ...]:
    """Return the warnings of all rules, for known combinations."""
    return tuple(warning for rule in RULES for warning in rule(linted))


def always_or_never_met(linted: LintContext) -> Iterator[LintWarning]:
    """Warn of a criterion that every value meets, or none."""
    for group in linted.groups:
        for index, position in enumerate(group.positions):
            criterion = linted.criteria.criteria[position]
            verdicts = {met[index] for met in group.together}
            if verdicts == {True}:
                message = f"{describe_criterion(criterion)} is met by every value that the metric can have"
                fix = "Tighten the threshold, or drop the criterion"
                yield make_lint_warning("always_met", linted.path(position), message, fix)
            elif verdicts == {False}:
                message = f"{describe_criterion(criterion)} is met by no value that the metric can have"
                fix = "Check the threshold and its scale: built-in shares run from 0 to 1"
                yield make_lint_warning("never_met", linted.path(position), message, fix)


def describe_criterion(criterion: SuccessCriterion) -> str:
    """Return a criterion in words: metric, comparison and threshold."""
    return f"{criterion.metric} {criterion.comparison} ({format_requirement(criterion)})"


def mutually_exclusive(linted: LintContext) -> Iterator[LintWarning]:
    """Warn of two criteria that cannot both be met, though each alone can."""
    for group in linted.groups:
        met_indexes = [index for index in range(len(group.positions)) if any(met[index] for met in group.together)]
        for first, second in pairs_of(met_indexes, 2):
            if not any(met[first] and met[second] for met in group.together):
                one, other = group.positions[first], group.positions[second]
                message = f"Criteria {one} and {other} can never both be met"
                fix = "Under `all`, or where both are required, no candidate can pass: relax one of them"
                yield make_lint_warning("criteria_exclude_each_other", linted.path(other), message, fix)


def nothing_required(linted: LintContext) -> Iterator[LintWarning]:
    """Warn of `all` without a required criterion, unless a verifier or a science gate decides."""
    criteria = linted.criteria
    if linted.is_gated:
        return
    if criteria.aggregation is Aggregation.ALL and not any(is_required(criteria, each) for each in criteria.criteria):
        message = "No criterion is required under `all`: every judged candidate passes"
        fix = "Leave `required` unset on the criteria that decide, or use `any` or `weighted`"
        yield make_lint_warning("nothing_required", linted.root, message, fix)


def unreachable_success(linted: LintContext) -> Iterator[LintWarning]:
    """Warn of a minimum or a success that no combination reaches, or that all reach."""
    criteria, reached = linted.criteria, linted.feasible
    if not reached:
        return
    scale = CriteriaWeights.from_criteria(criteria)
    if criteria.aggregation is Aggregation.WEIGHTED and max(scale.share(met) for met in reached) < scale.minimum:
        message = f"No criteria that can be met together reach {format_as_written(criteria.minimum_weighted_score)}"
        fix = "Lower minimum_weighted_score, or change the criteria that exclude each other"
        yield make_lint_warning("minimum_unreachable", f"{linted.root}/minimum_weighted_score", message, fix)
        return
    outcomes = {scale.succeeds(met) for met in reached}
    if outcomes == {False}:
        message = "No candidate can pass: what success needs cannot be met together"
        fix = "Relax a required criterion, or unset `required`"
        yield make_lint_warning("success_unreachable", linted.root, message, fix)
    elif outcomes == {True} and criteria.aggregation is not Aggregation.ALL and not linted.is_gated:
        message = "Every judged candidate passes, whatever it delivers"
        fix = "Raise minimum_weighted_score, or set `required` on a criterion"
        yield make_lint_warning("success_certain", linted.root, message, fix)


def bonus_out_of_reach(linted: LintContext) -> Iterator[LintWarning]:
    """Warn of more bonus than the budget's cap pays."""
    cap = linted.budget.max_cpa_total if linted.budget else None
    if cap is None:
        return
    earned = max(_bonuses(linted.criteria, linted.feasible), default=ZERO)
    if earned > cap:
        message = f"The criteria can earn {format_amount(earned)}; max_cpa_total pays {format_amount(cap)} at most"
        fix = "Raise max_cpa_total, or lower the bonuses"
        yield make_lint_warning("bonus_unreachable", "/budget/max_cpa_total", message, fix)


def _bonuses(criteria: SuccessCriteria, reached: Sequence[Met]) -> Iterator[Decimal]:
    scale, amounts = CriteriaWeights.from_criteria(criteria), [each.bonus for each in criteria.criteria]
    for met in reached:
        if criteria.bonus_policy is BonusPolicy.PER_CRITERION or scale.succeeds(met):
            yield sum(compress(amounts, met), ZERO)


def self_reported(linted: LintContext) -> Iterator[LintWarning]:
    """Warn of money or success that depends on self-reported metrics."""
    for position, criterion, moves in _effective_criteria(linted):
        reported = linted.catalog.entry(criterion.metric).provenance is Provenance.SELF_REPORTED
        if reported and not is_recomputed_metric(criterion.metric):
            message = f"{criterion.metric} is reported by the agent itself and {moves}"
            fix = "Prefer a computed or measured metric, such as platform_latency_ms for latency"
            yield make_lint_warning("self_reported", linted.path(position), message, fix)


def own_data_alone(linted: LintContext) -> Iterator[LintWarning]:
    """Warn of money or success that depends on the agent's own files."""
    for position, criterion, moves in _effective_criteria(linted):
        if linted.science and is_recomputed_from_agent_files(criterion, linted.science):
            message = f"{criterion.metric} is recomputed from the agent's own files and {moves}"
            fix = "Upload your own raw data (PUT /v1/artifacts) and name them in science.data"
            yield make_lint_warning("own_data_alone", linted.path(position), message, fix)


def _effective_criteria(linted: LintContext) -> Iterator[tuple[int, SuccessCriterion, str]]:
    """Yield position, criterion and effect of each criterion that affects success or money."""
    criteria = linted.criteria
    for position, criterion in enumerate(criteria.criteria):
        decides = is_required(criteria, criterion) or criteria.aggregation is not Aggregation.ALL
        moves = ["carries money"] if criterion.bonus or criterion.penalty else []
        moves += ["decides success"] if decides else []
        if moves:
            yield position, criterion, " and ".join(moves)


def reference_without_tokens(linted: LintContext) -> Iterator[LintWarning]:
    """Warn of ROUGE over a reference without words of a–z and 0–9."""
    for position, criterion in enumerate(linted.criteria.criteria):
        if linted.extent.wordless and is_rouge_type(criterion.metric):
            message = f"{criterion.metric} counts words of a–z and 0–9 alone; the reference has none: always 0"
            fix = "Use bleu_score or contains_keywords for texts in other scripts"
            yield make_lint_warning("reference_without_tokens", linted.path(position), message, fix)


RULES = (
    always_or_never_met,
    mutually_exclusive,
    nothing_required,
    unreachable_success,
    bonus_out_of_reach,
    self_reported,
    own_data_alone,
    reference_without_tokens,
)
