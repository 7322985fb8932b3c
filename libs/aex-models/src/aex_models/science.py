"""Models of scientific verification: requirements of a work, peer review, result of the science gate."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from aex_models.domains import DomainName
from aex_models.examination import DEFAULT_CHECKS, DomainViolation, Examination, MixedGroups, ValueMismatch
from aex_models.frozen import Frozen, LongText, MediaType, Sha256, ShortText, StrictBool, StrictFloat
from aex_models.statistics import ClaimName, StatisticSpec
from aex_models.tables import MAX_DERIVED, MAX_JOINS, DerivedColumn, Join


class Constraint(Frozen):
    """The expected range of a claimed value, both ends included."""

    min: StrictFloat | None = None
    """Least allowed value."""
    max: StrictFloat | None = None
    """Greatest allowed value."""
    typical: StrictFloat | None = None
    """Expected value, as a note; it decides nothing."""

    @model_validator(mode="after")
    def _check_order(self) -> "Constraint":
        if self.min is not None and self.max is not None and self.min > self.max:
            raise PydanticCustomError("invalid_range", "min is above max")
        return self


class DataFile(Frozen):
    """A file of the consumer's own raw data, uploaded to work-publisher."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\\\x00-\x1f]+$")]
    """Name of the file, to which statistics refer."""
    sha256: Sha256 | None = None
    """SHA-256 digest of the upload; null for readers from whom the consumer's data are secret."""
    media_type: MediaType | None = None
    """Media type. Unset: by the name's ending (.csv, .tsv, .jsonl, .ndjson, .parquet)."""


class ShareReview(StrEnum):
    """The part of a peer review that feedback on a rejection quotes."""

    NONE = "none"
    """An empty part."""
    ISSUES = "issues"
    """The `issues` and `missing_for_conclusion` of the review."""


class Science(Frozen):
    """A work's scientific requirements for a candidate."""

    original_goal: LongText | None = None
    """Goal behind the question, for a reviewer."""
    question: LongText | None = None
    """Question that the result has to answer, for a reviewer."""
    domain: DomainName | None = None
    """Scientific domain with its ranges and checks. Unset: the work's domain, if the registry knows that name."""
    expected_outcome: Any = None
    """Expected result, the consumer's secret. A judge sees it only with `reviewer_sees_expected`."""
    reviewer_sees_expected: StrictBool = False
    """True if a reviewer reads `expected_outcome`."""
    outcome_criteria: LongText | Annotated[tuple[LongText, ...], Field(max_length=50)] = ()
    """Properties of a good answer, in words."""
    output_constraints: Annotated[dict[ClaimName, Constraint], Field(max_length=200)] = {}
    """Claim → its expected range, beside the domain's."""
    statistics: Annotated[tuple[StatisticSpec, ...], Field(max_length=100)] = ()
    """Statistics to recompute from raw data; each must be claimed."""
    joins: Annotated[tuple[Join, ...], Field(max_length=MAX_JOINS)] = ()
    """Tables of two files, which statistics and derived columns may name as their `artifact`."""
    derived: Annotated[tuple[DerivedColumn, ...], Field(max_length=MAX_DERIVED)] = ()
    """Columns that statistics and their conditions may name, computed from columns of a file or join."""
    data: Annotated[tuple[DataFile, ...], Field(max_length=10)] = ()
    """The consumer's own raw data. Recomputation uses them before the agent's."""
    checks: Annotated[tuple[ShortText, ...], Field(max_length=50)] = DEFAULT_CHECKS
    """`value_ranges`, `recompute_statistics`, `peer_review`, `mixed_groups`, `internal_consistency`, or names of the
    domain's sanity checks."""
    strict: StrictBool = True
    """True if a peer review between pass and rejection counts as a rejection."""
    share_review: ShareReview = ShareReview.NONE
    """Part of a peer review that rejections quote; only at level `full` if the reviewer saw the consumer's secrets."""

    @model_validator(mode="after")
    def _check_duplicates(self) -> "Science":
        for what, names in (("statistics", self.statistics), ("data", self.data)):
            listed = [each.name for each in names]
            if len(set(listed)) < len(listed):
                raise PydanticCustomError("duplicate_name", "Two {what} have the same name", {"what": what})
        return self

    def without_secrets(self) -> "Science":
        """Return a copy without the expected outcome and the digests of the consumer's data."""
        files = tuple(each.model_copy(update={"sha256": None}) for each in self.data)
        return self.model_copy(update={"expected_outcome": None, "data": files})


class OutcomeVerdict(StrEnum):
    """The reviewer's verdict on how far a result answers the question."""

    ANSWERS_QUESTION = "answers_question"
    PARTIAL_ANSWER = "partial_answer"
    DOES_NOT_ANSWER = "does_not_answer"
    WRONG_ANSWER = "wrong_answer"


class ScientificValidity(StrEnum):
    """The validity of the science behind a result."""

    VALID = "valid"
    QUESTIONABLE = "questionable"
    INVALID = "invalid"


class Recommendation(StrEnum):
    """A peer reviewer's recommendation."""

    ACCEPT = "accept"
    REVISE = "revise"
    REJECT = "reject"


class ScientificReview(Frozen):
    """A peer review of a claimed result. Without a judge, the fields that only a judge fills are None."""

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
    """The reason why a peer review is missing."""

    UNPARSABLE = "review_unparsable"
    UNREACHABLE = "reviewer_unreachable"


class Reviewer(Frozen):
    """The judge model and the version of the prompt of a peer review."""

    model: str
    prompt_version: str


class GateReason(Frozen):
    """A reason for the science gate's result or warning."""

    code: str
    """`value_mismatch`, `domain_violation`, `mixed_groups`, `statistic_not_claimed`, `statistic_not_recomputed`,
    `nothing_recomputed`, `review_rejected`, `review_questionable`, `review_unparsable`, `reviewer_unreachable`,
    `data_unavailable`."""
    names: tuple[str, ...] = ()
    """The claims, statistics or sanity checks that the reason is about."""
    message: str = ""
    """Explanation. It holds no value of the data and nothing of a peer review."""


class ReviewQuotes(StrEnum):
    """The feedback levels at which feedback quotes a peer review."""

    NEVER = "never"
    """At no level."""
    AT_FULL = "at_full"
    """Only at level `full`, because the reviewer saw the consumer's data or expected outcome."""
    AT_CRITERIA = "at_criteria"
    """At level `criteria` and above."""


class ScienceResult(Frozen):
    """The result of the science gate, which checks a candidate's claims by arithmetic and peer review."""

    passed: bool | None
    """True if the candidate passes the gate; None if that is unknown."""
    reasons: tuple[GateReason, ...] = ()
    """Reasons for not passing."""
    warnings: tuple[GateReason, ...] = ()
    """Reasons for which a strict gate would reject."""
    value_mismatches: tuple[ValueMismatch, ...] = ()
    domain_violations: tuple[DomainViolation, ...] = ()
    mixed_groups: tuple[MixedGroups, ...] = ()
    """Groups that statistics mix; also in a passed result."""
    values_plausible: bool | None = None
    """True if no checked value is a violation; None if no value was checked."""
    values_consistent: bool | None = None
    """True if all demanded statistics, or else all recomputed claims, match; None if there are none."""
    examination: Examination = Examination()
    review: ScientificReview | None = None
    """The peer review, made stricter where the arithmetic contradicts it."""
    review_failure: ReviewFailure | None = None
    reviewer: Reviewer | None = None
    review_quotes: ReviewQuotes = ReviewQuotes.NEVER
    """Levels at which feedback quotes the review."""
