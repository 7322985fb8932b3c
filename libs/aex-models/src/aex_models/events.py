"""Events: CloudEvents 1.0 envelopes, the data of each type, publishers and subscribers."""

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
    """Made from the event's cause: a repeated publish has the same id."""
    type: Annotated[str, Field(min_length=1, max_length=100)]
    source: Annotated[str, Field(min_length=1, max_length=200)]
    subject: Annotated[str, Field(min_length=1, max_length=200)]
    """The contract, or else the work, that the event is about."""
    time: Instant
    datacontenttype: Literal["application/json"] = "application/json"
    traceparent: str | None = None
    """W3C trace context of whatever caused the event."""
    tracestate: str | None = None
    dataref: Annotated[str, Field(max_length=200)] | None = None
    """Reference to data that the event does not carry: `blob:events/SHA256?size=N`."""
    data: dict[str, Any]
    """Data of the type; empty with a `dataref`."""


def derive_event_id(event_type: str, *cause: object) -> str:
    """Return an id that depends only on the event's cause: each replica makes the same one."""
    text = "\x1f".join([event_type, *(str(part) for part in cause)])
    return f"evt_{hashlib.sha256(text.encode()).hexdigest()[:40]}"


class WorkSubmitted(Frozen):
    """`work.submitted`."""

    work_id: Identifier
    has_cpa: bool
    """True if the work has criteria."""
    consumer_id: Identifier
    domain: str
    evaluation: EvaluationRef | None = None
    custom_metrics: bool = False


class WorkChecked(Frozen):
    """`work.checked`: the dry run of a work's custom code."""

    work_id: Identifier
    ok: bool
    problems: tuple[Problem, ...] = ()
    warnings: tuple[LintWarning, ...] = ()


class ContractAwarded(Frozen):
    """`contract.awarded`, and the answer of `GET /v1/awards/{contract_id}`."""

    award: Award
    work: Work
    """Work without its evaluation data."""
    terms: Terms
    evaluation: EvaluationRef | None = None


class OutputSubmitted(Frozen):
    """`output.submitted`: a job for verification's workers."""

    contract_id: Identifier
    attempt_id: Identifier


class OutputRejected(Frozen):
    """`output.rejected`."""

    contract_id: Identifier
    attempt_id: Identifier
    code: str


class OutcomeHeld(Frozen):
    """`outcome.held`: an operator has to decide."""

    contract_id: Identifier
    attempt_id: Identifier
    cause: HoldCause
    flags: tuple[Flag, ...] = ()


class OutcomeReviewed(Frozen):
    """`outcome.reviewed`: an operator decided."""

    hold_id: Identifier
    contract_id: Identifier
    attempt_id: Identifier
    decision: Decision
    reason: str
    by: str


class OutcomeVerified(Frozen):
    """`outcome.verified`: all that settlement needs."""

    outcome: OutcomeRecord
    """Outcome without the candidate's data: `final_result` is None, `execution_metadata` is empty."""


class ContractCancelled(Frozen):
    """`contract.cancelled`: before any candidate; nothing is recorded, nothing settled."""

    contract_id: Identifier
    work_id: Identifier
    cause: CancelCause | None = None


class SettlementCompleted(Frozen):
    """`settlement.completed`."""

    contract_id: Identifier
    revision: int
    cost: Cost


class SettlementAdjusted(Frozen):
    """`settlement.adjusted`: the current revision and its cost.

    Without a replacement these are the reversed revision and a cost of zeros.
    """

    contract_id: Identifier
    revision: int
    cost: Cost


@dataclass(frozen=True, slots=True)
class Topic:
    """An event type: its data, its publisher and its subscribers."""

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
        Topic("settlement.adjusted", SettlementAdjusted, SETTLEMENT),
    )
}
"""Every topic, declared once: both backends create their topics and subscriptions from it."""


class UnreadableEvent(ValueError):
    """Data that are not of their type. The message names fields, never values: they may be secret."""


def parse_event_data(event: Event, model: type[D]) -> D:
    """Return an event's data as its model. Fields that a newer publisher added are left out, not refused.

    Raises `UnreadableEvent` for data that are not of this model: no later delivery will make them so.
    """
    try:
        return model.model_validate(event.data, extra="ignore")
    except ValidationError as error:
        pointers = sorted({"/".join(map(str, each["loc"])) for each in error.errors(include_input=False)})
        raise UnreadableEvent(f"{event.type} is not readable at: {', '.join(pointers[:10])}") from None


def subscribed_topics(service: str) -> tuple[str, ...]:
    """Return the topics that a service subscribes to."""
    return tuple(topic.name for topic in TOPICS.values() if service in topic.subscribers)
