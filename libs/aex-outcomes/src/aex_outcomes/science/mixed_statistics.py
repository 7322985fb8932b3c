"""Statistics that may not mix groups of a file's rows, and statistics of single groups (spec file 17)."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from aex_models.domains import Domain
from aex_models.examination import MIXED_GROUPS, DataProblem, MixedGroups, MixingRule
from aex_models.statistics import DerivedSpec, FilterOp, Statistic, StatisticSpec
from aex_outcomes.science.domains.soundness import SANITY_PREFIX
from aex_outcomes.science.mixed import (
    Group,
    GroupFilter,
    build_mixing_finding,
    find_mixing_rule,
    find_range_of_column,
    format_group_claim_name,
)
from aex_outcomes.science.statistic_specs import derive_specs_from_claims, find_score_column
from aex_outcomes.science.statistics.group_summaries import summarize_groups
from aex_outcomes.science.tables.cells import DataTable
from aex_outcomes.science.tables.file_checks import quote_name_for_message
from aex_outcomes.science.tables.source_table import OpenedFile

_OF_VALUES = frozenset(
    {
        *(Statistic.MEAN, Statistic.STD, Statistic.VAR, Statistic.MIN, Statistic.MAX),
        *(Statistic.MEDIAN, Statistic.QUANTILE, Statistic.SUM),
    }
)
_MAX_MEASURED, _MAX_GROUPINGS, _MAX_FINDINGS, _MAX_OF_GROUPS = 10, 20, 3, 100
_LONGEST_NAME = 300
_MAX_SUMMARIZED = 50_000_000
"""Maximum of numbers that are sorted for medians: takes about five seconds."""
_MAX_SORTED = 20
"""Maximum of values sorted for quantiles of single groups, in multiples of the file's rows."""


@dataclass(frozen=True, slots=True)
class MixingPolicy:
    """Rules on computing statistics over mixed groups of rows, and on the groups that are looked for."""

    domain: Domain | None = None
    claims: Collection[str] = ()
    """Names of claimed values, such as `mean_fitness[condition=A]` for one group."""
    is_default: bool = True
    """True if the statistics are the default ones; only these are not computed over mixed groups."""
    is_check: bool = False
    """True if the work demands the check: then groups may not be mixed by their spread, either."""

    def forbids(self, rule: MixingRule) -> bool:
        """Return True if statistics over groups that this rule separates must not be computed."""
        return self.is_default and (self.is_check or rule is MixingRule.RANGE)


@dataclass(frozen=True, slots=True)
class GroupClaim:
    """Claimed statistic of one group."""

    name: str
    base: StatisticSpec
    """Statistic over all rows."""
    column: str
    value: str


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """Plan for a file with groups of rows: which statistics are not computed, and which are added."""

    findings: tuple[MixedGroups, ...] = ()
    withheld: dict[str, MixedGroups] = field(default_factory=dict)
    """Statistics that are not computed: the finding by the statistic's name."""
    added: tuple[StatisticSpec, ...] = ()
    """Statistics of single groups."""


def list_columns_to_check_for_mixing(specs: Sequence[StatisticSpec], claims: Sequence[GroupClaim]) -> tuple[str, ...]:
    """Return at most ten columns with statistics over all rows or of a group, to check for mixed groups."""
    every = [*(each for each in specs if _is_over_all(each)), *(each.base for each in claims)]
    return tuple(dict.fromkeys(each.column for each in every if each.column))[:_MAX_MEASURED]


def _is_over_all(spec: StatisticSpec) -> bool:
    return spec.stat in _OF_VALUES and not spec.where and not spec.name.startswith(SANITY_PREFIX)


def find_group_claims(policy: MixingPolicy, file: OpenedFile, specs: Sequence[StatisticSpec]) -> tuple[GroupClaim, ...]:
    """Return the claims whose names denote a statistic of a single group of the file's rows.

    The statistic is one of `specs`, or one of the score column that a claim may name. Empty unless the statistics are
    the default ones.
    """
    if not policy.is_default:
        return ()
    known = {each.name: each for each in specs if _is_over_all(each)}
    parts = [part for claim in policy.claims if claim.endswith("]") for part in _split_claim(claim, file.columns)]
    unknown = dict.fromkeys(base for _, base, _, _ in parts if base not in known)
    score = find_score_column(policy.domain, [file])
    if score is not None and unknown:
        known |= {each.name: each for each in derive_specs_from_claims(unknown, policy.domain, score[1], file.columns)}
    return tuple(GroupClaim(claim, known[base], column, value) for claim, base, column, value in parts if base in known)


def _split_claim(claim: str, columns: Sequence[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield each way to read a claim's name, as the name, statistic, column and group's value."""
    for column in columns:
        at = claim.find(f"[{column}=")
        if at > 0:
            yield claim, claim[:at], column, claim[at + len(column) + 2 : -1]


def plan_group_statistics(
    table: DataTable,
    file: OpenedFile,
    specs: Sequence[StatisticSpec],
    claims: Sequence[GroupClaim],
    policy: MixingPolicy,
) -> GroupPlan:
    """Find groups of rows that may not be mixed, and decide which statistics of the file are computed.

    `claims`: result of `find_group_claims`.
    """
    measured = list_columns_to_check_for_mixing(specs, claims)
    found = dict(_summaries(table, measured))
    over = {name: [each for each in specs if each.column == name and _is_over_all(each)] for name in measured}
    findings = list(_findings(file, found, over, policy))
    forbidding = [each for each in findings if policy.forbids(each.rule)]
    first = {each.measured: each for each in reversed(forbidding)}
    withheld = {spec.name: finding for name, finding in first.items() for spec in over[name]}
    added = _SingleGroups(table, found)
    for claim in claims:
        added.add_within_limits(claim.name, claim.base, claim.column, claim.value)
    for name, finding in first.items():
        for spec in over[name]:
            for group in finding.groups:
                value = str(group.value)
                added.add_within_limits(
                    format_group_claim_name(spec.name, finding.column, value), spec, finding.column, value
                )
    return GroupPlan(tuple(findings), withheld, tuple(added.specs.values()))


_Summaries = dict[tuple[str, str], tuple[Group, ...]]
"""Groups by measured column and column of groups."""


def _summaries(table: DataTable, measured: Sequence[str]) -> Iterator[tuple[tuple[str, str], tuple[Group, ...]]]:
    left, groupings = _MAX_SUMMARIZED, _MAX_GROUPINGS
    for column, groups in table.groups.items():
        names = [name for name in measured if name != column][: max(1, left // table.rows)]
        if left <= 0 or groupings == 0 or not names:
            return
        found = summarize_groups(table, names, groups)
        left -= table.rows * len(found)
        groupings -= bool(found)
        yield from (((name, column), each) for name, each in found.items())


def _findings(
    file: OpenedFile, found: _Summaries, over: dict[str, list[StatisticSpec]], policy: MixingPolicy
) -> Iterator[MixedGroups]:
    """Yield at most three findings for each measured column, those by range first."""
    for measured, specs in over.items():
        bounds = find_range_of_column(measured, policy.domain)
        of_column = {column: groups for (name, column), groups in found.items() if name == measured and specs}
        decided = ((column, find_mixing_rule(groups, bounds)) for column, groups in of_column.items())
        rules = [(column, rule) for column, rule in decided if rule is not None]
        rules.sort(key=lambda each: each[1] is not MixingRule.RANGE)
        for column, rule in rules[:_MAX_FINDINGS]:
            yield build_mixing_finding(
                rule,
                of_column[column],
                measured_column=measured,
                group_column=column,
                artifact=file.file.name,
                secret=file.is_secret,
                bounds=bounds,
                statistics=[each.name for each in specs],
            )


class _SingleGroups:
    """Collection of statistics of single groups, limited in number and cost, each name once."""

    def __init__(self, table: DataTable, found: _Summaries) -> None:
        self.specs: dict[str, StatisticSpec] = {}
        self._found = found
        self._sortable = _MAX_SORTED * table.rows

    def add_within_limits(self, name: str, base: StatisticSpec, column: str, value: str) -> None:
        """Add the statistic of a group, unless there is no such group or a limit is reached."""
        groups = self._found.get((base.column or "", column), ())
        group = next((each for each in groups if str(each.value) == value), None)
        is_full = len(self.specs) == _MAX_OF_GROUPS
        if group is None or is_full or name in self.specs or len(name) > _LONGEST_NAME or not name.isprintable():
            return
        if base.stat in {Statistic.MEDIAN, Statistic.QUANTILE}:
            if self._sortable < group.n:
                return
            self._sortable -= group.n
        where = GroupFilter(column=column, op=FilterOp.EQ, value=group.value)
        self.specs[name] = DerivedSpec(**{**dict(base), "name": name, "where": (where,)})


def build_mixing_problem(spec: StatisticSpec, finding: MixedGroups) -> DataProblem:
    """Return the problem of a statistic that is not computed because of a finding; it quotes no cell."""
    example = format_group_claim_name(spec.name, finding.column, "…")
    message = f"{quote_name_for_message(finding.measured)} has groups by {quote_name_for_message(finding.column)}"
    return DataProblem(
        code=MIXED_GROUPS,
        message=f"{message} that may not be mixed: claim each group's own value, as in {example}",
        name=spec.name,
        artifact=finding.artifact,
        secret=finding.secret,
    )
