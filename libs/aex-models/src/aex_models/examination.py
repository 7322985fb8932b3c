"""What arithmetic found of a candidate's claims: recomputed values, reconciliation, violations (spec file 4)."""

from enum import StrEnum

from aex_models.faults import Fault
from aex_models.frozen import Frozen
from aex_models.science_checks import DEFAULT_CHECKS
from aex_models.statistics import ClaimName, StatisticName


class MismatchSeverity(StrEnum):
    """How far a claimed value lies from the recomputed one."""

    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class ReconciliationStatus(StrEnum):
    """What came of holding a claim against what was recomputed."""

    MATCH = "match"
    MISMATCH = "mismatch"
    NOT_RECOMPUTED = "not_recomputed"
    """Claimed, and nothing computes it."""
    NOT_CLAIMED = "not_claimed"


class DataOwner(StrEnum):
    """Whose raw data a value was recomputed from."""

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
    """One name: what was claimed and what was recomputed."""

    name: str
    status: ReconciliationStatus
    claimed: float | None = None
    recomputed: float | None = None
    relative_error: float | None = None
    """|claimed − recomputed| / |recomputed|; None where that is not defined."""
    severity: MismatchSeverity | None = None
    secret: bool = False
    """Whether it was recomputed from the consumer's own data."""


class ValueMismatch(Frozen):
    """A claimed value that the data do not bear out."""

    name: str | None = None
    claimed: float
    actual: float
    severity: MismatchSeverity
    relative_error: float | None = None
    secret: bool = False
    """Whether `actual` comes from the consumer's own data: the agent is told it at feedback level `full` alone."""


class DomainViolation(Frozen):
    """A value that the domain, or a constraint of the work, rules out."""

    name: str
    """Of the claim, or of the sanity check."""
    message: str
    value: float | None = None
    """None where the value is no finite number."""
    min: float | None = None
    max: float | None = None
    source: str = ""
    """What rules it out: `domain`, `output_constraints` or `sanity_check`."""
    secret: bool = False
    """Whether `value` comes from the consumer's own data."""


class DataProblem(Frozen):
    """Why a file could not be read, or a statistic not be recomputed."""

    code: str
    message: str
    """Quotes no cell."""
    name: str | None = None
    """The statistic; None for a whole file."""
    artifact: str | None = None
    fault: Fault = Fault.AGENT
    """A platform fault (a file that is lost, the consumer's own data that cannot be read) leaves no verdict."""
    secret: bool = False
    """Whether `message` speaks of the consumer's own data: the agent is told it at feedback level `full` alone."""


class Examination(Frozen):
    """What arithmetic alone found of a candidate's claims: deterministic, and never overruled."""

    domain: str | None = None
    checks: tuple[str, ...] = DEFAULT_CHECKS
    claims: int = 0
    """How many values were claimed."""
    demanded: tuple[StatisticName, ...] = ()
    """The statistics that the work names itself: each has to be claimed and recomputed."""
    recomputed: tuple[Recomputed, ...] = ()
    reconciliation: tuple[Reconciliation, ...] = ()
    domain_violations: tuple[DomainViolation, ...] = ()
    """Also failed sanity checks that the work demands."""
    in_range: int = 0
    """Claimed values that were held to an end of a range or of a constraint, or are no numbers; violated or not."""
    unchecked: tuple[str, ...] = ()
    """Claims that no range and no constraint covers; a quantity that its domain says is unbounded is none of them."""
    findings: tuple[DomainViolation, ...] = ()
    """Failed sanity checks that the work does not demand."""
    problems: tuple[DataProblem, ...] = ()
