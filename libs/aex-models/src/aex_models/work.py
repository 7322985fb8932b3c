"""Work: what a consumer wants done, how it is judged, and what it may cost."""

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
    """As soon as one candidate was judged."""
    ON_SUCCESS = "on_success"
    """Only where the outcome succeeds."""


class FeedbackLevel(StrEnum):
    """The detail of the feedback on a rejection."""

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
    """The content of a work's evaluation blob, as canonical JSON.

    Other services carry its digest. The salt keeps the digest from revealing the data.
    """

    salt: Annotated[str, Field(min_length=32)]
    evaluation: Evaluation | None = None
    science: Science | None = None
    input: dict[str, Any] = {}
    """Input of the work, which agents read, too; used to try code or a reference before any award."""
    success_criteria: SuccessCriteria | None = None
    """The same of the criteria."""


class VerificationPolicy(Frozen):
    """The rules of verification: attempts, feedback, verifier and deadline."""

    max_attempts: Annotated[StrictInt, Field(ge=1, le=100)] = 3
    """Attempts that are counted before the contract is exhausted."""
    feedback: FeedbackLevel = FeedbackLevel.CRITERIA
    """Detail of what an agent reads about a rejection."""
    verifier: Identifier | None = None
    """The name of a verifier that the operator registered."""
    deadline_s: Annotated[StrictInt, Field(ge=1, le=31_536_000)] = 604_800
    """Seconds from the award; 7 days unless said otherwise."""


GENERAL = "general"
"""The domain of works that name none."""
WorkDomain = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._/-]+$")]


class WorkSubmission(Frozen):
    """A work as its consumer submits it."""

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
    """The salted digest and the size of a work's evaluation blob."""

    digest: Sha256
    size: int


class Work(Frozen):
    """A published work."""

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
    """A problem in a request's body."""

    path: str
    """JSON pointer into the body."""
    code: str
    message: str


class LintWarning(Frozen):
    """Something that is valid but hardly meant."""

    code: str
    path: str
    message: str
    suggestion: str


class QuoteCase(Frozen):
    """An end of the price range and a case that reaches it."""

    base: Money
    bonus: Money
    penalty: Money
    total: TotalMoney
    success: bool
    met: tuple[str, ...] = ()
    """The metrics of the criteria that are met in this case."""
    unmet: tuple[str, ...] = ()


class CheckedWork(Work):
    """A work whose custom code or reference was tried, as its consumer sees it."""

    problems: tuple[Problem, ...] = ()
    """Reasons of the refusal."""
    warnings: tuple[LintWarning, ...] = ()


class Quote(Frozen):
    """The exact least and most that a contract can cost over all reachable outcomes."""

    currency: Currency
    minimum: QuoteCase
    maximum: QuoteCase


class WorkAnswer(Work):
    """A work as the answer to its submission, with the linter's warnings and the quote."""

    warnings: tuple[LintWarning, ...] = ()
    quote: Quote


class WorkValidation(Frozen):
    """The answer of `POST /v1/work/validate`."""

    valid: bool
    problems: tuple[Problem, ...] = ()
    warnings: tuple[LintWarning, ...] = ()
    quote: Quote | None = None
