"""Validations and outcomes as they come to the running service."""

import random
from datetime import timedelta

from aex_governance.handlers.history import append_outcome_to_log_and_projections
from aex_models.contract import ContractStatus
from aex_models.events import OutcomeVerified
from aex_models.governance import ValidationRequest
from tests.benchmarks.governance.drawing import Drawing
from tests.services.governance.process import Process
from tests.services.governance.requests import NOW, numbered_request, outcome_record

_DRAWING = Drawing(1_000)
_ENDS = (ContractStatus.PASSED, ContractStatus.EXHAUSTED, ContractStatus.EXPIRED)


def a_request(number: int) -> ValidationRequest:
    """Return a request of one of a few agents: every third output is prose, and some of it copied."""
    chance = random.Random(number)
    if number % 3:
        text = chance.choice(("positive", "negative"))
    else:
        text = _DRAWING.original(chance.randrange(6)) if chance.random() < 0.5 else _DRAWING.fresh(number)
    return numbered_request(
        number,
        text,
        agent={"id": f"bot{number % 4}"},
        consumer={"id": chance.choice(("acme", "globex"))},
        domain=chance.choice(("general", "law/tax")),
        extracted_metrics={
            "rougeL": chance.random() if chance.random() < 0.9 else 7.0,
            "latency_ms": chance.lognormvariate(7, 1),
        },
        received_at=NOW + timedelta(seconds=number),
    )


def an_outcome(number: int) -> OutcomeVerified:
    request = a_request(number)
    parties = {"agent_id": request.agent.id, "consumer_id": request.consumer.id, "domain": request.domain}
    return OutcomeVerified(outcome=outcome_record(request.contract_id, _ENDS[number % 3], **parties))


async def live_through(kit: Process, first: int, end: int) -> None:
    """Validate some contracts one after the other, each with an outcome half a minute later."""
    for number in range(first, end):
        await kit.validate(a_request(number))
        kit.clock.advance(timedelta(seconds=30))
        await append_outcome_to_log_and_projections(kit.deps, an_outcome(number))
