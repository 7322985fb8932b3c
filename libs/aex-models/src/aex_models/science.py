"""Scientific verification: what a work demands, and what was found of a candidate's claims (spec file 4)."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from aex_models.domains import DomainName
from aex_models.faults import Fault
from aex_models.frozen import Frozen, LongText, MediaType, Sha256, ShortText, StrictBool, StrictFloat
from aex_models.statistics import ClaimName, StatisticName, StatisticSpec

VALUE_RANGES, RECOMPUTE_STATISTICS, PEER_REVIEW = "value_ranges", "recompute_statistics", "peer_review"
CHECKS = (VALUE_RANGES, RECOMPUTE_STATISTICS, PEER_REVIEW)
"""What `science.checks` may name, beside the sanity checks of the domain."""
DEFAULT_CHECKS = (VALUE_RANGES, RECOMPUTE_STATISTICS)


class Constraint(Frozen):
    """What the consumer expects of one claimed value; both ends are included."""

    min: StrictFloat | None = None
    max: StrictFloat | None = None
    typical: StrictFloat | None = None

    @model_validator(mode="after")
    def _in_order(self) -> "Constraint":
        if self.min is not None and self.max is not None and self.min > self.max:
            raise PydanticCustomError("invalid_range", "min is above max")
        return self


class DataFile(Frozen):
    """A file of the consumer's own raw data, uploaded to work-publisher."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\\\x00-\x1f]+$")]
    sha256: Sha256 | None = None
    """None where the reader may not know it: the data are the consumer's secret."""
    media_type: MediaType | None = None
    """Unset: by the name's ending (.csv, .tsv, .jsonl, .ndjson, .parquet)."""


class Science(Frozen):
    """What a work demands of the science behind a candidate."""

    original_goal: LongText | None = None
    question: LongText | None = None
    domain: DomainName | None = None
    """Unset: the work's, where the registry knows it."""
    expected_outcome: Any = None
    """The consumer's secret; a reviewer is told where `reviewer_sees_expected`."""
    reviewer_sees_expected: StrictBool = False
    outcome_criteria: LongText | Annotated[tuple[LongText, ...], Field(max_length=50)] = ()
    """What a good answer has, in words."""
    output_constraints: Annotated[dict[ClaimName, Constraint], Field(max_length=200)] = {}
    statistics: Annotated[tuple[StatisticSpec, ...], Field(max_length=100)] = ()
    data: Annotated[tuple[DataFile, ...], Field(max_length=10)] = ()
    """The consumer's own raw data: recomputation prefers them to the agent's."""
    checks: Annotated[tuple[ShortText, ...], Field(max_length=50)] = DEFAULT_CHECKS
    """`value_ranges`, `recompute_statistics`, `peer_review`, or the names of sanity checks of the domain."""
    strict: StrictBool = True
    """Whether what lies between a pass and a rejection in a review is rejected."""

    @model_validator(mode="after")
    def _each_once(self) -> "Science":
        for what, names in (("statistics", self.statistics), ("data", self.data)):
            listed = [each.name for each in names]
            if len(set(listed)) < len(listed):
                raise PydanticCustomError("duplicate_name", "Two {what} have the same name", {"what": what})
        return self

    def without_secrets(self) -> "Science":
        """What everyone may read who may read the work."""
        files = tuple(each.model_copy(update={"sha256": None}) for each in self.data)
        return self.model_copy(update={"expected_outcome": None, "data": files})


class OutcomeVerdict(StrEnum):
    """Whether a result answers the question that was asked."""

    ANSWERS_QUESTION = "answers_question"
    PARTIAL_ANSWER = "partial_answer"
    DOES_NOT_ANSWER = "does_not_answer"
    WRONG_ANSWER = "wrong_answer"


class ScientificValidity(StrEnum):
    """Whether the science behind a result holds."""

    VALID = "valid"
    QUESTIONABLE = "questionable"
    INVALID = "invalid"


class Recommendation(StrEnum):
    """What a peer reviewer would have done with the result."""

    ACCEPT = "accept"
    REVISE = "revise"
    REJECT = "reject"


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


class ScientificReview(Frozen):
    """A peer review of a claimed result. What only a reader could tell is None without a reader."""

    outcome_verdict: OutcomeVerdict
    scientific_validity: ScientificValidity
    confidence: Annotated[float, Field(ge=0, le=1)]
    answers_original_question: bool | None = None
    values_plausible: bool | None = None
    values_consistent: bool | None = None
    reasoning_sound: bool | None = None
    issues: tuple[str, ...] = ()
    value_mismatches: tuple[ValueMismatch, ...] = ()
    domain_violations: tuple[str, ...] = ()
    missing_for_conclusion: tuple[str, ...] = ()
    recommendation: Recommendation
    reasoning: str = ""


class ReviewFailure(StrEnum):
    """Why there is no review."""

    UNPARSABLE = "review_unparsable"
    UNREACHABLE = "reviewer_unreachable"


class Reviewer(Frozen):
    """Who reviewed, and what they were asked."""

    model: str
    prompt_version: str


class GateReason(Frozen):
    """Why the gate did not pass a candidate, or passed it with a warning."""

    code: str
    """`value_mismatch`, `domain_violation`, `statistic_not_claimed`, `statistic_not_recomputed`, `nothing_recomputed`,
    `review_rejected`, `review_questionable`, `review_unparsable`, `reviewer_unreachable`, `data_unavailable`."""
    names: tuple[str, ...] = ()
    """The claims, statistics or sanity checks that it is about."""
    message: str = ""
    """Holds no value and nothing of a review."""


class ScienceResult(Frozen):
    """What the science gate concluded about one candidate."""

    passed: bool | None
    """None: the gate could not tell."""
    reasons: tuple[GateReason, ...] = ()
    """Why it did not pass."""
    warnings: tuple[GateReason, ...] = ()
    """Of a pass that a strict gate would have refused."""
    value_mismatches: tuple[ValueMismatch, ...] = ()
    domain_violations: tuple[DomainViolation, ...] = ()
    values_plausible: bool | None = None
    """No violation among at least one checked value; None: nothing was checked."""
    values_consistent: bool | None = None
    """Every demanded statistic claimed and matching, else every claim that could be recomputed; None: nothing was."""
    examination: Examination = Examination()
    review: ScientificReview | None = None
    """As the arithmetic allows it: capped, never raised."""
    review_failure: ReviewFailure | None = None
    reviewer: Reviewer | None = None
