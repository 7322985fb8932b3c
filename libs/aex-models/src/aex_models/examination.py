"""Results of checking a candidate's claims by arithmetic: recomputed values, mismatches, violations."""

from enum import StrEnum

from aex_models.frozen import Frozen
from aex_models.statistics import ClaimName, Filter, StatisticName


class Fault(StrEnum):
    """The party that caused an error or a missing value."""

    AGENT = "agent"
    PLATFORM = "platform"


VALUE_RANGES = "value_ranges"
"""Compares every claim with the range of its quantity in the domain, and with the work's `output_constraints`."""
RECOMPUTE_STATISTICS = "recompute_statistics"
"""Recomputes the demanded, or else the claimed, statistics from raw data and compares them with the claims."""
PEER_REVIEW = "peer_review"
"""Has a language model review the result; needs a configured reviewer."""
MIXED_GROUPS = "mixed_groups"
"""Computes no default statistic over groups of rows that differ by more than their own spread."""
INTERNAL_CONSISTENCY = "internal_consistency"
"""Compares claims about one quantity with each other, such as a minimum with the mean."""
CHECKS = (VALUE_RANGES, RECOMPUTE_STATISTICS, PEER_REVIEW, MIXED_GROUPS, INTERNAL_CONSISTENCY)
"""Names that `science.checks` may list in addition to the sanity checks of the domain."""
DEFAULT_CHECKS = (VALUE_RANGES, RECOMPUTE_STATISTICS)


class MismatchSeverity(StrEnum):
    """The severity of the difference between a claimed and a recomputed value."""

    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class ReconciliationStatus(StrEnum):
    """The result of comparing a claim with its recomputed value."""

    MATCH = "match"
    MISMATCH = "mismatch"
    NOT_RECOMPUTED = "not_recomputed"
    """The name was claimed, but no statistic computes it."""
    NOT_CLAIMED = "not_claimed"


class DataOwner(StrEnum):
    """The owner of the raw data of a recomputed value."""

    CONSUMER = "consumer"
    AGENT = "agent"


class Recomputed(Frozen):
    """A statistic that was recomputed from raw data."""

    name: ClaimName
    value: float
    owner: DataOwner
    """The owner of the data. For a join with any of the agent's files, the agent."""
    artifact: str
    """The name of the file with the data, or of the join."""
    secret: bool = False
    """True if some of the data are the consumer's, as in a join."""

    @property
    def is_secret(self) -> bool:
        return self.secret or self.owner is DataOwner.CONSUMER


class Reconciliation(Frozen):
    """The comparison of a claimed value with the recomputed value of the same name."""

    name: str
    status: ReconciliationStatus
    claimed: float | None = None
    recomputed: float | None = None
    relative_error: float | None = None
    """|claimed − recomputed| / |recomputed|; None if it is undefined."""
    severity: MismatchSeverity | None = None
    secret: bool = False
    """True if `recomputed` comes from the consumer's own data."""


class ValueMismatch(Frozen):
    """A claimed value that differs from the value recomputed from the data."""

    name: str | None = None
    claimed: float
    actual: float
    severity: MismatchSeverity
    relative_error: float | None = None
    secret: bool = False
    """True if `actual` comes from the consumer's data, which agents see only at feedback level `full`."""


class DomainViolation(Frozen):
    """A value that violates a range of the domain, a constraint of the work or a sanity check."""

    name: str
    """Name of the claim or of the sanity check."""
    message: str
    value: float | None = None
    """The value; None if it is not a finite number."""
    min: float | None = None
    max: float | None = None
    source: str = ""
    """Source of the violated rule: `domain`, `output_constraints`, `sanity_check` or `internal_consistency`."""
    secret: bool = False
    """True if `value` comes from the consumer's own data."""


class DataProblem(Frozen):
    """The reason why a file is unreadable or a statistic has no value."""

    code: str
    message: str
    """Explanation of the problem. It quotes no cell of the data."""
    name: str | None = None
    """Name of the statistic; None if the problem is about a whole file."""
    artifact: str | None = None
    fault: Fault = Fault.AGENT
    """Party at fault. With a platform fault (a lost file, unreadable consumer data) there is no verdict."""
    secret: bool = False
    """True if `message` is about the consumer's data, which agents see only at feedback level `full`."""


class MixingRule(StrEnum):
    """The rule by which the groups of a column may not be mixed."""

    RANGE = "range"
    """Some medians lie in the range of the quantity, and some do not."""
    SPREAD = "spread"
    """Two medians differ by more than the standard deviation within the groups."""


class GroupSummary(Frozen):
    """The values of a column in one group of rows."""

    value: int | str
    """The group: the value of the other column."""
    n: int
    mean: float
    median: float


class MixedGroups(Frozen):
    """A column of numbers whose rows fall into groups by another column."""

    rule: MixingRule
    measured: str
    """The column of numbers."""
    column: str
    """The column with the groups."""
    artifact: str
    groups: tuple[GroupSummary, ...] = ()
    where: tuple[Filter, ...] = ()
    """The filter that keeps one group: the largest one, or by rule `range` the largest one in the range."""
    statistics: tuple[str, ...] = ()
    """The statistics over all groups of the column, computed or not."""
    secret: bool = False
    """True for the consumer's data, of which agents see groups only at feedback level `full`."""


class FileColumns(Frozen):
    """The columns of a readable file, for a reviewer."""

    name: str
    owner: DataOwner
    columns: tuple[str, ...]
    """The first 200 names, each cut to 100 characters."""


class Examination(Frozen):
    """The complete result of checking a candidate's claims by arithmetic. No judge can overrule it."""

    domain: str | None = None
    checks: tuple[str, ...] = DEFAULT_CHECKS
    claims: int = 0
    """Number of claimed values."""
    demanded: tuple[StatisticName, ...] = ()
    """The statistics that the work names. Each has to be claimed and recomputed."""
    recomputed: tuple[Recomputed, ...] = ()
    reconciliation: tuple[Reconciliation, ...] = ()
    domain_violations: tuple[DomainViolation, ...] = ()
    """Violations, including failed sanity checks that the work demands."""
    in_range: int = 0
    """Number of claimed values that were compared with a range or constraint, or that are no numbers."""
    unchecked: tuple[str, ...] = ()
    """Claims without a range or constraint, except quantities that the domain declares unbounded."""
    findings: tuple[DomainViolation, ...] = ()
    """Failed sanity checks that the work does not demand."""
    problems: tuple[DataProblem, ...] = ()
    mixed_groups: tuple[MixedGroups, ...] = ()
    files: tuple[FileColumns, ...] = ()
    """Readable files, if the work demands a review. They are never published."""
