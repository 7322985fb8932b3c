"""Outcomes, made by hand or at random, and the events that carry them."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from aex_models.audiences import project_event_data
from aex_models.contract import ContractStatus, Terms
from aex_models.cost import cost, to_billing_impact
from aex_models.events import Event, OutcomeVerified, derive_event_id
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import Settlement, SettlementRevision, SettlementStatus
from tests.libs.models.results import a_criterion, a_result, results, terms

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


def an_outcome(contract_id: str = "ctr_1", **changes: Any) -> OutcomeRecord:
    """An outcome that passed: base 1.00, bonus 0.50, fee rate 10 %; less what the test changes."""
    agreed = changes.pop("terms", None) or Terms(cpc_rate=Decimal("1.00"), fee_rate=Decimal("0.10"))
    result = a_result(
        contract_id=contract_id,
        criterion_results=(a_criterion("rougeL", bonus="0.50", secret=True), a_criterion("output_length")),
        bonus="0.50",
    )
    judged = changes.pop("verification_result", result)
    fields: dict[str, Any] = {
        "id": f"out_{contract_id}",
        "contract_id": contract_id,
        "work_id": "work_1",
        "agent_id": "bot",
        "consumer_id": "acme",
        "domain": "general",
        "final_status": ContractStatus.PASSED,
        "verification_result": judged,
        "attempts_used": 1,
        "terms": agreed,
        "billing_impact": to_billing_impact(cost(agreed, judged, contract_id)),
        "created_at": NOON,
    }
    return OutcomeRecord(**(fields | changes))


def a_settlement(**changes: Any) -> Settlement:
    """A settlement of 1.00, as it was first booked; less what the test changes."""
    amounts = changes.pop("cost", None) or cost(Terms(cpc_rate=Decimal(1)), a_result())
    fields: dict[str, Any] = {
        "contract_id": "ctr_1",
        "work_id": "work_1",
        "agent_id": "bot",
        "consumer_id": "acme",
        "domain": "general",
        "success": True,
        "final_status": ContractStatus.PASSED,
        "status": SettlementStatus.SETTLED,
        "revision": 1,
        "revisions": (SettlementRevision(revision=1, cost=amounts, settled_at=NOON),),
        "cost": amounts,
        "settled_at": NOON,
    }
    return Settlement(**(fields | changes))


def an_event(outcome: OutcomeRecord) -> Event:
    """`outcome.verified` as verification publishes it."""
    return Event(
        id=derive_event_id("outcome.verified", outcome.contract_id),
        type="outcome.verified",
        source="/aex/verification",
        subject=outcome.contract_id,
        time=NOON,
        data=project_event_data(OutcomeVerified(outcome=outcome)),
    )


@st.composite
def outcomes(draw: st.DrawFn) -> OutcomeRecord:
    """Any outcome that verification could publish."""
    agreed = draw(terms)
    result = draw(st.none() | results())
    contract_id = "ctr_1"
    judged = result and result.model_copy(update={"contract_id": contract_id})
    return an_outcome(
        contract_id,
        terms=agreed,
        verification_result=judged,
        agent_id=draw(st.sampled_from(["bot", "crew/two", "acme"])),
        consumer_id=draw(st.sampled_from(["acme", "globex"])),
        domain=draw(st.sampled_from(["general", "science/physics"])),
    )
