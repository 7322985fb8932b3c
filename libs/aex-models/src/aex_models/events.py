"""Events on the bus: the CloudEvents envelope, the data of each type, publishers and subscribers."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError

from aex_models.contract import Award, CancelCause, Terms
from aex_models.frozen import Frozen, Identifier, Instant
from aex_models.governance import Decision, Flag, HoldCause
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import Cost
from aex_models.work import EvaluationRef, LintWarning, Problem, Work

D = TypeVar("D", bound=Frozen)


class Event(Frozen):
    """A CloudEvents 1.0 envelope around JSON data."""

    specversion: Literal["1.0"] = "1.0"
    id: Annotated[str, Field(min_length=1, max_length=200)]
    """Derived from the event's cause, so a repeated publication has the same id."""
    type: Annotated[str, Field(min_length=1, max_length=100)]
    source: Annotated[str, Field(min_length=1, max_length=200)]
    subject: Annotated[str, Field(min_length=1, max_length=200)]
    """The id of the contract that the event is about; of the work if there is no contract."""
    time: Instant
    datacontenttype: Literal["application/json"] = "application/json"
    traceparent: str | None = None
    """W3C trace context of the request or event that caused this event."""
    tracestate: str | None = None
    dataref: Annotated[str, Field(max_length=200)] | None = None
    """Reference to data that are stored as a blob: `blob:events/SHA256?size=N`."""
    data: dict[str, Any]
    """Data of the event type; empty if `dataref` is set."""


def derive_event_id(event_type: str, *cause: object) -> str:
    """Return the id of the event with this type and cause. Equal arguments always give the same id."""
    text = "\x1f".join([event_type, *(str(part) for part in cause)])
    return f"evt_{hashlib.sha256(text.encode()).hexdigest()[:40]}"


class WorkSubmitted(Frozen):
    """The data of `work.submitted`: a consumer submitted a work."""

    work_id: Identifier
    has_cpa: bool
    """True if the work has success criteria, whose bonuses and penalties are its cost per action (CPA)."""
    consumer_id: Identifier
    domain: str
    evaluation: EvaluationRef | None = None
    """Reference to the stored secret evaluation data; None if the work has none."""
    custom_metrics: bool = False
    """True if the work has custom code and stays closed until verification has tried it."""


class WorkChecked(Frozen):
    """The data of `work.checked`: the result of the dry run of a work's custom code or reference."""

    work_id: Identifier
    ok: bool
    problems: tuple[Problem, ...] = ()
    warnings: tuple[LintWarning, ...] = ()


class ContractAwarded(Frozen):
    """The data of `contract.awarded`, also the answer of `GET /v1/awards/{contract_id}`."""

    award: Award
    work: Work
    """The work without its evaluation data."""
    terms: Terms
    evaluation: EvaluationRef | None = None


class OutputSubmitted(Frozen):
    """The data of `output.submitted`: verification has to grade a candidate."""

    contract_id: Identifier
    attempt_id: Identifier


class OutputRejected(Frozen):
    """The data of `output.rejected`: a candidate was rejected."""

    contract_id: Identifier
    attempt_id: Identifier
    code: str


class OutcomeHeld(Frozen):
    """The data of `outcome.held`: an operator has to decide."""

    contract_id: Identifier
    attempt_id: Identifier
    cause: HoldCause
    flags: tuple[Flag, ...] = ()


class OutcomeReviewed(Frozen):
    """The data of `outcome.reviewed`: an operator decided a hold."""

    hold_id: Identifier
    contract_id: Identifier
    attempt_id: Identifier
    decision: Decision
    reason: str
    by: str


class OutcomeVerified(Frozen):
    """The data of `outcome.verified`: a contract's final outcome, which settlement posts."""

    outcome: OutcomeRecord
    """The outcome without the candidate's data: `final_result` is None, `execution_metadata` is empty."""


class ContractCancelled(Frozen):
    """The data of `contract.cancelled`: a contract without any candidate ended at no cost."""

    contract_id: Identifier
    work_id: Identifier
    cause: CancelCause | None = None


class SettlementCompleted(Frozen):
    """The data of `settlement.completed`: the cost of a contract was posted."""

    contract_id: Identifier
    revision: int
    cost: Cost


class SettlementAdjusted(Frozen):
    """The data of `settlement.adjusted`: a settlement was reversed.

    `revision` and `cost` are those of the replacement. Without a replacement, they are the
    reversed revision and a cost of zeros.
    """

    contract_id: Identifier
    revision: int
    cost: Cost


@dataclass(frozen=True, slots=True)
class Topic:
    """An event type: the model of its data, and the services that publish it and subscribe to it."""

    name: str
    data: type[Frozen]
    publisher: str
    subscribers: tuple[str, ...] = ()


PUBLISHER, VERIFICATION, GOVERNANCE, SETTLEMENT = "work-publisher", "verification", "governance", "settlement"
SERVICES = (PUBLISHER, VERIFICATION, GOVERNANCE, SETTLEMENT)

TOPICS: Mapping[str, Topic] = {
    topic.name: topic
    for topic in (
        Topic("work.submitted", WorkSubmitted, PUBLISHER, (VERIFICATION,)),
        Topic("work.checked", WorkChecked, VERIFICATION, (PUBLISHER,)),
        Topic("contract.awarded", ContractAwarded, PUBLISHER, (VERIFICATION,)),
        Topic("output.submitted", OutputSubmitted, VERIFICATION, (VERIFICATION,)),
        Topic("output.rejected", OutputRejected, VERIFICATION),
        Topic("outcome.held", OutcomeHeld, VERIFICATION, (GOVERNANCE,)),
        Topic("outcome.reviewed", OutcomeReviewed, GOVERNANCE, (VERIFICATION,)),
        Topic("outcome.verified", OutcomeVerified, VERIFICATION, (GOVERNANCE, SETTLEMENT, PUBLISHER)),
        Topic("contract.cancelled", ContractCancelled, VERIFICATION, (PUBLISHER,)),
        Topic("settlement.completed", SettlementCompleted, SETTLEMENT),
        Topic("settlement.adjusted", SettlementAdjusted, SETTLEMENT, (VERIFICATION,)),
    )
}
"""Topics by name. Every bus backend creates its topics and subscriptions from this mapping."""


class UnreadableEvent(ValueError):
    """The error for event data that do not fit their type.

    The message names fields, but no values, because values may be secret.
    """


def parse_event_data(event: Event, model: type[D]) -> D:
    """Return an event's data as an instance of `model`, ignoring fields that a newer publisher added.

    Raises `UnreadableEvent` if the data do not fit. Another delivery of the event would fail as well.
    """
    try:
        return model.model_validate(event.data, extra="ignore")
    except ValidationError as error:
        pointers = sorted({"/".join(map(str, each["loc"])) for each in error.errors(include_input=False)})
        raise UnreadableEvent(f"{event.type} is not readable at: {', '.join(pointers[:10])}") from None


def find_subscribed_topics(service: str) -> tuple[str, ...]:
    """Return the names of the topics that a service subscribes to."""
    return tuple(topic.name for topic in TOPICS.values() if service in topic.subscribers)
