"""The steps of a contract, as its parties take them through the handlers."""

from typing import Any

from aex_models.contract import Candidate, ContractStatus
from aex_models.contract_events import ContractEvent
from aex_models.events import OutcomeReviewed
from aex_models.governance import Decision, Party
from aex_models.outcome import OutcomeRecord
from aex_outcomes.lifecycle.state import ContractState
from aex_verification.handlers.admit import load_or_open_contract
from aex_verification.handlers.read import find_outcome, load_attempt
from aex_verification.handlers.submit_output import submit_output
from aex_verification.repository import EVENTS
from aex_verification.rules.records import AttemptRow, Policy
from tests.parts.verification import NO_KEY, VerificationBench, make_event

CONTRACT = "ctr_1"
BOT = Party(id="bot")
GOOD, SHORT, DULL = "one two three", "one", "dull as it is"
HOPELESS, CRASH = "hopeless from the start", "crash it will"
"""Outputs; the verifier `summary` rules by their first word."""


async def opened(verifier: str | None = "summary", policy: Policy | None = None, **changes: Any) -> VerificationBench:
    bench = VerificationBench(policy=policy)
    verification = {"verifier": verifier} | changes.pop("verification", {})
    await bench.award(verification=verification, **changes)
    return bench


async def post(bench: VerificationBench, output: Any, **more: Any) -> AttemptRow:
    shaped = {"text": output} if isinstance(output, str) else output
    candidate = Candidate.model_validate({"output": shaped, **more})
    effect, _ = await submit_output(bench.deps, BOT, CONTRACT, candidate, NO_KEY)
    return await load_attempt(bench.deps, CONTRACT, effect.resource_id)


async def grade(bench: VerificationBench, output: Any, **more: Any) -> AttemptRow:
    row = await post(bench, output, **more)
    await bench.deliver("output.submitted")
    return await load_attempt(bench.deps, CONTRACT, row.attempt_id)


async def state(bench: VerificationBench) -> ContractState:
    return (await load_or_open_contract(bench.deps, CONTRACT)).state


async def status(bench: VerificationBench) -> ContractStatus:
    return (await state(bench)).status


async def outcome(bench: VerificationBench) -> OutcomeRecord:
    record = await find_outcome(bench.deps, CONTRACT)
    assert record is not None
    return record


async def contract_events(bench: VerificationBench) -> list[ContractEvent]:
    found = await EVENTS.find(bench.store, {"contract_id": CONTRACT}, "seq")
    return [each.record for each in found]


async def review(bench: VerificationBench, decision: Decision) -> None:
    held = bench.emitted("outcome.held")[-1].data
    data = OutcomeReviewed(
        hold_id=f"hold_{held['attempt_id']}",
        contract_id=CONTRACT,
        attempt_id=held["attempt_id"],
        decision=decision,
        reason="looked at it",
        by="olga",
    )
    await bench.handlers["outcome.reviewed"](make_event("outcome.reviewed", CONTRACT, data))
