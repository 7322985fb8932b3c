"""Linter of success criteria: warns of valid criteria that are probably mistakes."""

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
from aex_outcomes.evaluation_counts import EvaluationCounts, count_evaluation_items
from aex_outcomes.feasibility import (
    MAX_ENUMERATED,
    CriteriaGroup,
    Met,
    enumerate_feasible_combinations,
    group_dependent_criteria,
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
    """Input of the linter's rules."""

    criteria: SuccessCriteria
    budget: Budget | None
    counts: EvaluationCounts
    catalog: Catalog
    """Catalogue with the work's own statistics."""
    root: str
    """JSON pointer of the criteria in the work."""
    verified: bool
    """True if the work names a verifier, which decides as well."""
    science: Science | None

    @cached_property
    def groups(self) -> Sequence[CriteriaGroup]:
        """Return the groups of criteria that depend on each other. Raises `UnknownMetric`."""
        return group_dependent_criteria(self.criteria.criteria, self.catalog, self.counts)

    @cached_property
    def feasible_combinations(self) -> Sequence[Met]:
        """Return every feasible combination of met criteria; empty for more than 10 criteria."""
        count = len(self.criteria.criteria)
        return list(enumerate_feasible_combinations(self.groups, count)) if count <= MAX_ENUMERATED else []

    @property
    def has_gate_beyond_criteria(self) -> bool:
        """Return True if a verifier or the science gate can reject what the criteria accept."""
        return self.verified or self.science is not None

    def criterion_pointer(self, position: int) -> str:
        """Return the JSON pointer of the criterion at a position."""
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
    """Return warnings about valid criteria that are probably mistakes, and about `science`.

    `root`: JSON pointer of the criteria. `verified`: the work names a verifier. `domain`: the work's domain. Warnings
    may reveal evaluation data, so that only the consumer may read them. Raises `UnknownMetric`.
    """
    known = (catalog or Catalog.of()).with_statistics(science.statistics if science else ())
    science_findings = lint_science(science, domain, known) if science else ()
    if criteria is None:
        return science_findings
    counts = count_evaluation_items(criteria.criteria, evaluation or {})
    linted = LintContext(criteria, budget, counts, known, root, verified, science)
    return (*run_lint_rules(linted), *science_findings)


def run_lint_rules(linted: LintContext) -> tuple[LintWarning, ...]:
    """Apply all rules and return their warnings in the order of the rules."""
    return tuple(warning for rule in RULES for warning in rule(linted))


def warn_if_always_or_never_met(linted: LintContext) -> Iterator[LintWarning]:
    """Warn of a criterion that every value of its metric meets, or that no value meets."""
    for group in linted.groups:
        for index, position in enumerate(group.positions):
            criterion = linted.criteria.criteria[position]
            verdicts = {met[index] for met in group.together}
            if verdicts == {True}:
                message = f"{describe_criterion(criterion)} is met by every value that the metric can have"
                fix = "Tighten the threshold, or drop the criterion"
                yield make_lint_warning("always_met", linted.criterion_pointer(position), message, fix)
            elif verdicts == {False}:
                message = f"{describe_criterion(criterion)} is met by no value that the metric can have"
                fix = "Check the threshold and its scale: built-in shares run from 0 to 1"
                yield make_lint_warning("never_met", linted.criterion_pointer(position), message, fix)


def describe_criterion(criterion: SuccessCriterion) -> str:
    """Return a criterion in one line: metric, comparison, and in words what it requires."""
    return f"{criterion.metric} {criterion.comparison} ({format_requirement(criterion)})"


def warn_if_mutually_exclusive(linted: LintContext) -> Iterator[LintWarning]:
    """Warn of two criteria that cannot both be met, though each of them can."""
    for group in linted.groups:
        met_indexes = [index for index in range(len(group.positions)) if any(met[index] for met in group.together)]
        for first, second in pairs_of(met_indexes, 2):
            if not any(met[first] and met[second] for met in group.together):
                one, other = group.positions[first], group.positions[second]
                message = f"Criteria {one} and {other} can never both be met"
                fix = "Under `all`, or where both are required, no candidate can pass: relax one of them"
                yield make_lint_warning("criteria_exclude_each_other", linted.criterion_pointer(other), message, fix)


def warn_if_nothing_required(linted: LintContext) -> Iterator[LintWarning]:
    """Warn if the aggregation is `all` and no criterion is required, so that every candidate passes.

    There is no warning if a verifier or a science gate decides as well.
    """
    criteria = linted.criteria
    if linted.has_gate_beyond_criteria:
        return
    if criteria.aggregation is Aggregation.ALL and not any(is_required(criteria, each) for each in criteria.criteria):
        message = "No criterion is required under `all`: every judged candidate passes"
        fix = "Leave `required` unset on the criteria that decide, or use `any` or `weighted`"
        yield make_lint_warning("nothing_required", linted.root, message, fix)


def warn_if_success_unreachable_or_certain(linted: LintContext) -> Iterator[LintWarning]:
    """Warn if no feasible candidate can reach the minimum score or pass, or if every one passes."""
    criteria, reached = linted.criteria, linted.feasible_combinations
    if not reached:
        return
    scale = CriteriaWeights.from_criteria(criteria)
    if (
        criteria.aggregation is Aggregation.WEIGHTED
        and max(scale.met_weight_share(met) for met in reached) < scale.minimum
    ):
        message = f"No criteria that can be met together reach {format_as_written(criteria.minimum_weighted_score)}"
        fix = "Lower minimum_weighted_score, or change the criteria that exclude each other"
        yield make_lint_warning("minimum_unreachable", f"{linted.root}/minimum_weighted_score", message, fix)
        return
    outcomes = {scale.succeeds(met) for met in reached}
    if outcomes == {False}:
        message = "No candidate can pass: what success needs cannot be met together"
        fix = "Relax a required criterion, or unset `required`"
        yield make_lint_warning("success_unreachable", linted.root, message, fix)
    elif outcomes == {True} and criteria.aggregation is not Aggregation.ALL and not linted.has_gate_beyond_criteria:
        message = "Every judged candidate passes, whatever it delivers"
        fix = "Raise minimum_weighted_score, or set `required` on a criterion"
        yield make_lint_warning("success_certain", linted.root, message, fix)


def warn_if_bonus_exceeds_cap(linted: LintContext) -> Iterator[LintWarning]:
    """Warn if the criteria can earn more bonus than the budget's `max_cpa_total` pays."""
    cap = linted.budget.max_cpa_total if linted.budget else None
    if cap is None:
        return
    earned = max(_bonuses(linted.criteria, linted.feasible_combinations), default=ZERO)
    if earned > cap:
        message = f"The criteria can earn {format_amount(earned)}; max_cpa_total pays {format_amount(cap)} at most"
        fix = "Raise max_cpa_total, or lower the bonuses"
        yield make_lint_warning("bonus_unreachable", "/budget/max_cpa_total", message, fix)


def _bonuses(criteria: SuccessCriteria, reached: Sequence[Met]) -> Iterator[Decimal]:
    scale, amounts = CriteriaWeights.from_criteria(criteria), [each.bonus for each in criteria.criteria]
    for met in reached:
        if criteria.bonus_policy is BonusPolicy.PER_CRITERION or scale.succeeds(met):
            yield sum(compress(amounts, met), ZERO)


def warn_if_self_reported(linted: LintContext) -> Iterator[LintWarning]:
    """Warn of criteria on self-reported metrics that decide money or success."""
    for position, criterion, moves in _effective_criteria(linted):
        reported = linted.catalog.entry(criterion.metric).provenance is Provenance.SELF_REPORTED
        if reported and not is_recomputed_metric(criterion.metric):
            message = f"{criterion.metric} is reported by the agent itself and {moves}"
            fix = "Prefer a computed or measured metric, such as platform_latency_ms for latency"
            yield make_lint_warning("self_reported", linted.criterion_pointer(position), message, fix)


def warn_if_recomputed_from_agent_files(linted: LintContext) -> Iterator[LintWarning]:
    """Warn of criteria on statistics of the agent's own files that decide money or success."""
    for position, criterion, moves in _effective_criteria(linted):
        if linted.science and is_recomputed_from_agent_files(criterion, linted.science):
            message = f"{criterion.metric} is recomputed from the agent's own files and {moves}"
            fix = "Upload your own raw data (PUT /v1/artifacts) and name them in science.data"
            yield make_lint_warning("own_data_alone", linted.criterion_pointer(position), message, fix)


def _effective_criteria(linted: LintContext) -> Iterator[tuple[int, SuccessCriterion, str]]:
    """Yield position, criterion and effect (in words) of each criterion that affects success or money."""
    criteria = linted.criteria
    for position, criterion in enumerate(criteria.criteria):
        decides = is_required(criteria, criterion) or criteria.aggregation is not Aggregation.ALL
        moves = ["carries money"] if criterion.bonus or criterion.penalty else []
        moves += ["decides success"] if decides else []
        if moves:
            yield position, criterion, " and ".join(moves)


def warn_if_reference_has_no_tokens(linted: LintContext) -> Iterator[LintWarning]:
    """Warn of a ROUGE criterion if no reference has a word of a–z and 0–9: its value is always 0."""
    for position, criterion in enumerate(linted.criteria.criteria):
        if linted.counts.has_only_wordless_references and is_rouge_type(criterion.metric):
            message = f"{criterion.metric} counts words of a–z and 0–9 alone; the reference has none: always 0"
            fix = "Use bleu_score or contains_keywords for texts in other scripts"
            yield make_lint_warning("reference_without_tokens", linted.criterion_pointer(position), message, fix)


RULES = (
    warn_if_always_or_never_met,
    warn_if_mutually_exclusive,
    warn_if_nothing_required,
    warn_if_success_unreachable_or_certain,
    warn_if_bonus_exceeds_cap,
    warn_if_self_reported,
    warn_if_recomputed_from_agent_files,
    warn_if_reference_has_no_tokens,
)
