"""The criteria linter: what is valid but hardly meant. What needs the engine to be run is `reference_check`'s."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations as pairs_of
from itertools import compress
from typing import Any

from aex_models.criteria import Aggregation, BonusPolicy, SuccessCriteria, SuccessCriterion
from aex_models.money import ZERO, format_amount
from aex_models.numbers import text_of
from aex_models.results import Provenance
from aex_models.science import Science
from aex_models.work import Budget, LintWarning
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.aggregating import Scale, effective_required
from aex_outcomes.extent import Extent, extent_of
from aex_outcomes.in_words import needed
from aex_outcomes.kernels.rouge import is_rouge_type
from aex_outcomes.reachable import MAX_ENUMERATED, Group, Met, combinations, groups
from aex_outcomes.science_lint import is_recomputed, rests_on_own_data, science_warnings


@dataclass(frozen=True, slots=True)
class Linted:
    """What the rules look at."""

    criteria: SuccessCriteria
    budget: Budget | None
    extent: Extent
    catalog: Catalog
    groups: Sequence[Group]
    reached: Sequence[Met]
    """Every combination of met criteria that can occur; empty where there are too many criteria to enumerate."""
    root: str
    verified: bool = False
    """Whether a verifier or the science gate decides beside the criteria: both have to be met."""
    science: Science | None = None

    @classmethod
    def of(
        cls,
        criteria: SuccessCriteria,
        budget: Budget | None,
        extent: Extent,
        catalog: Catalog,
        root: str,
        *,
        verified: bool,
        science: Science | None,
    ) -> "Linted":
        """With what is reachable found out. `verified`: whether a verifier decides; `catalog`: with the statistics that
        the science names. Raises `UnknownMetric`."""
        found, count = groups(criteria.criteria, catalog, extent), len(criteria.criteria)
        reached = list(combinations(found, count)) if count <= MAX_ENUMERATED else []
        gated = verified or science is not None  # either takes away a success that the criteria alone would give
        return cls(criteria, budget, extent, catalog, found, reached, root, gated, science)

    def path(self, position: int) -> str:
        """The JSON pointer of a criterion."""
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
    """Warnings about valid criteria, in the order of the rules, then about `science`. Raises `UnknownMetric`.

    `root`: the JSON pointer under which the criteria lie. `verified`: whether the work names a verifier too. `domain`:
    the work's. Warnings may tell about evaluation data: they are the consumer's alone.
    """
    known = (catalog or Catalog.of()).with_statistics(science.statistics if science else ())
    of_science = science_warnings(science, domain, known) if science else ()
    if criteria is None:
        return of_science
    extent = extent_of(criteria.criteria, evaluation or {})
    linted = Linted.of(criteria, budget, extent, known, root, verified=verified, science=science)
    return (*lint_reached(linted), *of_science)


def lint_reached(linted: Linted) -> tuple[LintWarning, ...]:
    """The warnings of all rules, where what is reachable is known already."""
    return tuple(warning for rule in RULES for warning in rule(linted))


def always_or_never_met(linted: Linted) -> Iterator[LintWarning]:
    """A criterion that every value meets, or none."""
    for group in linted.groups:
        for place, position in enumerate(group.positions):
            criterion = linted.criteria.criteria[position]
            verdicts = {met[place] for met in group.together}
            if verdicts == {True}:
                yield LintWarning(
                    code="always_met",
                    path=linted.path(position),
                    message=f"{said(criterion)} is met by every value that the metric can have",
                    suggestion="Tighten the threshold, or drop the criterion",
                )
            elif verdicts == {False}:
                yield LintWarning(
                    code="never_met",
                    path=linted.path(position),
                    message=f"{said(criterion)} is met by no value that the metric can have",
                    suggestion="Check the threshold and its scale: built-in shares run from 0 to 1",
                )


def said(criterion: SuccessCriterion) -> str:
    """A criterion in words: metric, comparison and what it needs."""
    return f"{criterion.metric} {criterion.comparison} ({needed(criterion)})"


def exclusive(linted: Linted) -> Iterator[LintWarning]:
    """Two criteria that cannot both be met, though each alone can."""
    for group in linted.groups:
        places = [place for place in range(len(group.positions)) if any(met[place] for met in group.together)]
        for first, second in pairs_of(places, 2):
            if not any(met[first] and met[second] for met in group.together):
                one, other = group.positions[first], group.positions[second]
                yield LintWarning(
                    code="criteria_exclude_each_other",
                    path=linted.path(other),
                    message=f"Criteria {one} and {other} can never both be met",
                    suggestion="Under `all`, or where both are required, no candidate can pass: relax one of them",
                )


def nothing_required(linted: Linted) -> Iterator[LintWarning]:
    """`all` over no required criterion. Beside a verifier or a science gate, criteria may be there for money alone."""
    criteria = linted.criteria
    if linted.verified:
        return
    if criteria.aggregation is Aggregation.ALL and not any(
        effective_required(criteria, each) for each in criteria.criteria
    ):
        yield LintWarning(
            code="nothing_required",
            path=linted.root,
            message="No criterion is required under `all`: every judged candidate passes",
            suggestion="Leave `required` unset on the criteria that decide, or use `any` or `weighted`",
        )


def unreachable_success(linted: Linted) -> Iterator[LintWarning]:
    """A minimum that no combination reaches, or a success that none has, or that all have and nothing else denies."""
    criteria, reached = linted.criteria, linted.reached
    if not reached:
        return
    scale = Scale.of(criteria)
    if criteria.aggregation is Aggregation.WEIGHTED and max(scale.share(met) for met in reached) < scale.minimum:
        yield LintWarning(
            code="minimum_unreachable",
            path=f"{linted.root}/minimum_weighted_score",
            message=f"No criteria that can be met together reach {text_of(criteria.minimum_weighted_score)}",
            suggestion="Lower minimum_weighted_score, or change the criteria that exclude each other",
        )
        return
    outcomes = {scale.succeeds(met) for met in reached}
    if outcomes == {False}:
        yield LintWarning(
            code="success_unreachable",
            path=linted.root,
            message="No candidate can pass: what success needs cannot be met together",
            suggestion="Relax a required criterion, or unset `required`",
        )
    elif outcomes == {True} and criteria.aggregation is not Aggregation.ALL and not linted.verified:
        yield LintWarning(
            code="success_certain",
            path=linted.root,
            message="Every judged candidate passes, whatever it delivers",
            suggestion="Raise minimum_weighted_score, or set `required` on a criterion",
        )


def bonus_out_of_reach(linted: Linted) -> Iterator[LintWarning]:
    """More bonus than the budget's cap pays."""
    cap = linted.budget.max_cpa_total if linted.budget else None
    if cap is None:
        return
    earned = max(_bonuses(linted.criteria, linted.reached), default=ZERO)
    if earned > cap:
        yield LintWarning(
            code="bonus_unreachable",
            path="/budget/max_cpa_total",
            message=f"The criteria can earn {format_amount(earned)}; max_cpa_total pays {format_amount(cap)} at most",
            suggestion="Raise max_cpa_total, or lower the bonuses",
        )


def _bonuses(criteria: SuccessCriteria, reached: Sequence[Met]) -> Iterator[Decimal]:
    scale, amounts = Scale.of(criteria), [each.bonus for each in criteria.criteria]
    for met in reached:
        if criteria.bonus_policy is BonusPolicy.PER_CRITERION or scale.succeeds(met):
            yield sum(compress(amounts, met), ZERO)


def self_reported(linted: Linted) -> Iterator[LintWarning]:
    """Money or success that rests on the agent's own word."""
    for position, criterion, moves in _moving(linted):
        reported = linted.catalog.entry(criterion.metric).provenance is Provenance.SELF_REPORTED
        if reported and not is_recomputed(criterion.metric):
            yield LintWarning(
                code="self_reported",
                path=linted.path(position),
                message=f"{criterion.metric} is reported by the agent itself and {moves}",
                suggestion="Prefer a computed or measured metric, such as platform_latency_ms for latency",
            )


def own_data_alone(linted: Linted) -> Iterator[LintWarning]:
    """Money or success that rests on values recomputed from files of the agent's own."""
    if linted.science is None:
        return
    for position, criterion, moves in _moving(linted):
        if rests_on_own_data(criterion, linted.science):
            yield LintWarning(
                code="own_data_alone",
                path=linted.path(position),
                message=f"{criterion.metric} is recomputed from the agent's own files and {moves}",
                suggestion="Upload your own raw data (PUT /v1/artifacts) and name them in science.data",
            )


def _moving(linted: Linted) -> Iterator[tuple[int, SuccessCriterion, str]]:
    """The criteria on which something depends: their places, and in words what."""
    criteria = linted.criteria
    for position, criterion in enumerate(criteria.criteria):
        gates = effective_required(criteria, criterion) or criteria.aggregation is not Aggregation.ALL
        moves = ["carries money"] if criterion.bonus or criterion.penalty else []
        moves += ["decides success"] if gates else []
        if moves:
            yield position, criterion, " and ".join(moves)


def reference_without_tokens(linted: Linted) -> Iterator[LintWarning]:
    """ROUGE over a reference in which it sees no words."""
    if not linted.extent.wordless:
        return
    for position, criterion in enumerate(linted.criteria.criteria):
        if is_rouge_type(criterion.metric):
            yield LintWarning(
                code="reference_without_tokens",
                path=linted.path(position),
                message=f"{criterion.metric} counts words of a–z and 0–9 alone; the reference has none: always 0",
                suggestion="Use bleu_score or contains_keywords for texts in other scripts",
            )


RULES = (
    always_or_never_met,
    exclusive,
    nothing_required,
    unreachable_success,
    bonus_out_of_reach,
    self_reported,
    own_data_alone,
    reference_without_tokens,
)
