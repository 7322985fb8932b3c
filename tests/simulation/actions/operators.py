"""Actions of operators: decisions on holds, sometimes two on the same one."""

from typing import TYPE_CHECKING

from aex_governance.handlers.decide_hold import decide_hold
from aex_governance.repository import HOLDS
from aex_models.contract import ContractStatus
from aex_models.events import OutcomeReviewed, parse_event_data
from aex_models.governance import Decision, HoldDecision
from aex_runtime.bus.wire import decode_event
from aex_runtime.store.port import key_of
from aex_verification.repository import CONTRACTS
from tests.simulation.actions.machinery import hand_over_message
from tests.simulation.actions.requests import retry_until_answered
from tests.simulation.faults.bus import MessageInFlight
from tests.simulation.promises.promise import require_promise

if TYPE_CHECKING:
    from tests.simulation.world import World

_OPERATORS = ("olga", "otto")


async def decide_a_hold(world: "World") -> None:
    """Decide the latest hold at random, as an operator does."""
    for hold_id in (await waiting_holds(world))[:1]:
        await _decide(world, hold_id, world.dice.choice(list(Decision)))


async def repeat_decision(world: "World") -> None:
    """Decide a hold that may be decided already; the first decision stands."""
    if not world.seen.holds:
        return
    hold = world.dice.choice(list(world.seen.holds.values()))
    decided = await _decide(world, hold.hold_id, world.dice.choice(list(Decision)))
    require_promise(not (decided and hold.decision), "each hold is decided once", f"{hold.hold_id} was decided twice")


async def repeat_old_decisions(world: "World") -> None:
    """Repeat the decision on an earlier hold while its contract has another one."""
    reviewed = [each for each in world.suite.environment.bus.published if each.topic == "outcome.reviewed"]
    for old in reviewed:
        review = parse_event_data(decode_event(old.message), OutcomeReviewed)
        found = await CONTRACTS.get(world.suite.verification.memory, key_of(review.contract_id))
        state = found.record.state if found else None
        if state and state.status is ContractStatus.HELD and state.current_attempt != review.attempt_id:
            repeated = MessageInFlight(old.service, old.topic, old.message)
            world.suite.environment.bus.in_flight.append(repeated)
            world.suite.environment.fate.tally["old decisions repeated"] += 1
            await hand_over_message(world, repeated)


async def decide_all_holds(world: "World") -> None:
    """Decide all holds; most are released."""
    for hold_id in await waiting_holds(world):
        await _decide(world, hold_id, world.dice.choices(list(Decision), [3, 1, 1])[0])


async def waiting_holds(world: "World") -> list[str]:
    """Return the undecided holds, the latest first."""
    found = await HOLDS.find(world.suite.governance.memory, {"status": "waiting"}, "held_at", "desc")
    return [each.record.hold_id for each in found]


async def _decide(world: "World", hold_id: str, decision: Decision) -> bool:
    """Send a decision and return whether it was accepted."""
    chosen, deps = HoldDecision(decision=decision, reason="looked at it"), world.suite.governance_deps
    operator = world.dice.choice(_OPERATORS)
    answer = await retry_until_answered(
        world, world.suite.governance, "decide", lambda key: decide_hold(deps, operator, hold_id, chosen, key)
    )
    return answer is not None
