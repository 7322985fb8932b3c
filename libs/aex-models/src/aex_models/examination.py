"""Arithmetic on a candidate's claims: recomputed values, reconciliation, violations and checks."""

from enum import StrEnum

from aex_models.frozen import Frozen
from aex_models.statistics import ClaimName, StatisticName


class Fault(StrEnum):
    """The party at fault for a missing value."""

    AGENT = "agent"
    PLATFORM = "platform"


VALUE_RANGES = "value_ranges"
"""Compares every claim with the range of its quantity in the domain, and with the work's `output_constraints`."""
RECOMPUTE_STATISTICS = "recompute_statistics"
"""Recomputes the demanded, or else the claimed, statistics from raw data and compares them with the claims."""
PEER_REVIEW = "peer_review"
"""Has a language model review the result; needs a configured reviewer."""
CHECKS = (VALUE_RANGES, RECOMPUTE_STATISTICS, PEER_REVIEW)
"""Names for `science.checks`, beside the sanity checks of the domain."""
DEFAULT_CHECKS = (VALUE_RANGES, RECOMPUTE_STATISTICS)


class MismatchSeverity(StrEnum):
    """The distance of a claimed value from the recomputed one."""

    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class ReconciliationStatus(StrEnum):
    """The result of comparing a claim with its recomputed value."""

    MATCH = "match"
    MISMATCH = "mismatch"
    NOT_RECOMPUTED = "not_recomputed"
    """Claimed, and nothing computes it."""
    NOT_CLAIMED = "not_claimed"


class DataOwner(StrEnum):
    """The owner of the raw data of a recomputed value."""

    CONSUMER = "consumer"
    AGENT = "agent"


class Recomputed(Frozen):
    """A statistic, recomputed from raw data."""

    name: ClaimName
    value: float
    owner: DataOwner
    artifact: str
    """The file's name."""


class Reconciliation(Frozen):
    """The claimed and the recomputed value of a name."""

    name: str
    status: ReconciliationStatus
    claimed: float | None = None
    recomputed: float | None = None
    relative_error: float | None = None
    """|claimed − recomputed| / |recomputed|; None where that is not defined."""
    severity: MismatchSeverity | None = None
    secret: bool = False
    """True if it was recomputed from the consumer's own data."""


class ValueMismatch(Frozen):
    """A claimed value that the data do not bear out."""

    name: str | None = None
    claimed: float
    actual: float
    severity: MismatchSeverity
    relative_error: float | None = None
    secret: bool = False
    """True if `actual` comes from the consumer's data, which agents see only at feedback level `full`."""


class DomainViolation(Frozen):
    """A value that the domain, or a constraint of the work, rules out."""

    name: str
    """Name of the claim or of the sanity check."""
    message: str
    value: float | None = None
    """Value; None if it is not a finite number."""
    min: float | None = None
    max: float | None = None
    source: str = ""
    """Source of the violated rule: `domain`, `output_constraints` or `sanity_check`."""
    secret: bool = False
    """True if `value` comes from the consumer's own data."""


class DataProblem(Frozen):
    """The cause of an unreadable file, or of a statistic without a value."""

    code: str
    message: str
    """Quotes no cell."""
    name: str | None = None
    """The statistic; None for a whole file."""
    artifact: str | None = None
    fault: Fault = Fault.AGENT
    """Party at fault. A platform fault (a lost file, unreadable consumer data) leaves no verdict."""
    secret: bool = False
    """True if `message` is about the consumer's data, which agents see only at feedback level `full`."""


class Examination(Frozen):
    """The result of arithmetic on a candidate's claims: deterministic, and never overruled."""

    domain: str | None = None
    checks: tuple[str, ...] = DEFAULT_CHECKS
    claims: int = 0
    """Number of claimed values."""
    demanded: tuple[StatisticName, ...] = ()
    """The statistics that the work names itself: each has to be claimed and recomputed."""
    recomputed: tuple[Recomputed, ...] = ()
    reconciliation: tuple[Reconciliation, ...] = ()
    domain_violations: tuple[DomainViolation, ...] = ()
    """Also failed sanity checks that the work demands."""
    in_range: int = 0
    """Claimed values compared with a range or a constraint, and those that are no numbers."""
    unchecked: tuple[str, ...] = ()
    """Claims without a range or constraint; quantities that their domain calls unbounded do not count."""
    findings: tuple[DomainViolation, ...] = ()
    """Failed sanity checks that the work does not demand."""
    problems: tuple[DataProblem, ...] = ()
