"""Models of works: what a consumer wants done, how it is judged, and what it may cost."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation
from aex_models.frozen import Frozen, Identifier, Instant, LongText, Sha256, ShortText, StrictBool, StrictInt
from aex_models.money import AgreedCurrency, Currency, Money, TotalMoney
from aex_models.science import Science


class BasePolicy(StrEnum):
    """The condition under which the base (CPC) is paid."""

    JUDGED = "judged"
    """Payment once one candidate was judged."""
    ON_SUCCESS = "on_success"
    """Payment only where the outcome succeeds."""


class FeedbackLevel(StrEnum):
    """The amount of detail in the feedback on a rejection."""

    CRITERIA = "criteria"
    """The names of the criteria that are not met."""
    FULL = "full"
    """Values and thresholds too, never evaluation data."""
    NONE = "none"
    """The rejection alone."""


class WorkStatus(StrEnum):
    """The status of a work."""

    CHECKING = "checking"
    REFUSED = "refused"
    OPEN = "open"
    AWARDED = "awarded"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


class Budget(Frozen):
    """The cost limits of a work. An absent cap means no cap; a cap of 0 means 0."""

    max_cpc: Money
    """Highest base price (CPC) at which the work may be awarded; also the price of a claim."""
    max_cpa_total: Money | None = None
    """Cap of the sum of all bonuses (CPA)."""
    max_penalty_total: Money | None = None
    """Cap of the sum of all penalties."""
    base_policy: BasePolicy = BasePolicy.JUDGED
    """Condition under which the base is paid."""
    currency: AgreedCurrency = "USD"
    """Currency of all amounts of the work."""


class EvaluationBlob(Frozen):
    """The secret content of a work, stored as a blob of canonical JSON.

    Other services get only its digest. The random salt prevents guessing the content by its digest.
    """

    salt: Annotated[str, Field(min_length=32)]
    evaluation: Evaluation | None = None
    science: Science | None = None
    input: dict[str, Any] = {}
    """Input of the work, for dry runs of custom code or of a reference before an award."""
    success_criteria: SuccessCriteria | None = None
    """Success criteria of the work, for the same dry runs."""


class VerificationPolicy(Frozen):
    """The rules of verification: attempts, feedback, verifier and deadline."""

    max_attempts: Annotated[StrictInt, Field(ge=1, le=100)] = 3
    """Attempts that are counted before the contract is exhausted."""
    feedback: FeedbackLevel = FeedbackLevel.CRITERIA
    """Detail of what an agent reads about a rejection."""
    verifier: Identifier | None = None
    """The name of a verifier that the operator registered."""
    deadline_s: Annotated[StrictInt, Field(ge=1, le=31_536_000)] = 604_800
    """Seconds from the award to the deadline; 7 days by default."""


GENERAL = "general"
"""The domain of works that name none."""
WorkDomain = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._/-]+$")]


class WorkSubmission(Frozen):
    """A work as its consumer submits it, before it has an id and a status."""

    title: ShortText
    """Title in lists and pages."""
    description: LongText = ""
    """Task in words."""
    domain: WorkDomain = GENERAL
    """Field of the work, by which outcomes are grouped; a scientific domain's name gives its ranges and checks."""
    input: dict[str, Any] = {}
    """Data of the task, which agents read."""
    evaluation: Evaluation | None = None
    """Data that only the verifier reads."""
    success_criteria: SuccessCriteria | None = None
    """Criteria of success; a work without them and without `science` passes on delivery."""
    budget: Budget
    """Limits of cost."""
    verification: VerificationPolicy = VerificationPolicy()
    """Attempts, feedback, verifier and deadline."""
    science: Science | None = None
    """Demands on claims and raw data."""
    allow_claims: StrictBool = False
    """True if any agent may take the work at `max_cpc`; needs `base_policy: on_success`."""


class EvaluationRef(Frozen):
    """A reference to a work's evaluation blob: its salted SHA-256 digest and its size in bytes."""

    digest: Sha256
    size: int


class Work(Frozen):
    """A published work. `evaluation` is None for everyone but its consumer."""

    work_id: str
    consumer_id: str
    title: ShortText
    description: str = ""
    domain: str
    input: dict[str, Any] = {}
    evaluation: Evaluation | None = None
    success_criteria: SuccessCriteria | None = None
    budget: Budget
    verification: VerificationPolicy = VerificationPolicy()
    science: Science | None = None
    allow_claims: bool = False
    status: WorkStatus
    created_at: Instant


class Problem(Frozen):
    """A problem in the body of a request: its location, code and message."""

    path: str
    """JSON pointer into the body."""
    code: str
    message: str


class LintWarning(Frozen):
    """A warning about a setting that is valid but probably a mistake."""

    code: str
    path: str
    message: str
    suggestion: str


class QuoteCase(Frozen):
    """The lowest or highest cost of a contract, and a case in which it is reached."""

    base: Money
    bonus: Money
    penalty: Money
    total: TotalMoney
    success: bool
    met: tuple[str, ...] = ()
    """The metrics of the criteria that are met in this case."""
    unmet: tuple[str, ...] = ()


class CheckedWork(Work):
    """A work after the dry run of its custom code or reference, as its consumer sees it."""

    problems: tuple[Problem, ...] = ()
    """Reasons for which the work was refused."""
    warnings: tuple[LintWarning, ...] = ()


class Quote(Frozen):
    """The exact lowest and highest cost of a contract over all feasible outcomes."""

    currency: Currency
    minimum: QuoteCase
    maximum: QuoteCase


class WorkAnswer(Work):
    """A work as the answer to its submission, with the linter's warnings and the quote."""

    warnings: tuple[LintWarning, ...] = ()
    quote: Quote


class WorkValidation(Frozen):
    """The answer of `POST /v1/work/validate`: problems and warnings of a work, and its price quote."""

    valid: bool
    problems: tuple[Problem, ...] = ()
    warnings: tuple[LintWarning, ...] = ()
    quote: Quote | None = None
