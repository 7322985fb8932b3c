"""Promises at the end of a run: nothing is lost and nothing is done twice."""

from typing import TYPE_CHECKING, Any

from aex_models.events import TOPICS
from aex_models.governance import Decision, HoldStatus
from aex_runtime.store.table import Table
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_work_publisher.repository import AWARDS, WORKS
from tests.simulation.promises.derived import check_governance_projections
from tests.simulation.promises.promise import require_promise

if TYPE_CHECKING:
    from tests.simulation.world import World


async def check_at_rest(world: "World") -> None:
    """Check events, dead letters, holds, effects of requests and governance's projections after a run."""
    dead = await _check_dead_letters(world)
    _check_deliveries(world, dead)
    _check_holds(world)
    _check_effects(world)
    await check_governance_projections(world)


async def _check_dead_letters(world: "World") -> set[tuple[str, str | None]]:
    """Check that the dead letters are exactly the invalid messages sent."""
    dead: set[tuple[str, str | None]] = set()
    for service in world.suite.services:
        for letter in (await service.dead_letters.list(500, None)).items:
            dead.add((service.name, letter.event_id))
            known = (service.name, letter.event_id) in world.seen.poison
            require_promise(known, "only poison is given up on", f"{service.name} {letter.topic}: {letter.reason}")
    missing = world.seen.poison - dead
    require_promise(not missing, "poison is kept, not lost", f"{sorted(map(str, missing))}")
    return dead


def _check_deliveries(world: "World", dead: set[tuple[str, str | None]]) -> None:
    """Check that each subscriber handled every committed event."""
    commit_log = world.suite.environment.commit_log
    for event in commit_log.emitted.values():
        for subscriber in TOPICS[event.type].subscribers:
            arrived = (subscriber, event.id) in commit_log.handled or (subscriber, event.id) in dead
            require_promise(arrived, "no event is lost", f"{event.type} {event.subject} never reached {subscriber}")


def _check_holds(world: "World") -> None:
    """Check that each hold was decided and the decision carried out."""
    seen = world.seen
    for attempt_id in sorted(seen.held):
        hold = seen.holds.get(attempt_id)
        decided = hold is not None and hold.status is HoldStatus.DECIDED
        require_promise(decided, "what is held is put before an operator", attempt_id)
        require_promise(attempt_id in seen.released, "a decision is carried out once", f"{attempt_id} is held still")
    retried = {hold.attempt_id for hold in seen.holds.values() if hold.decision is Decision.RETRY}
    require_promise(seen.released <= seen.held, "what is held waits for an operator", str(seen.released - seen.held))
    require_promise(retried <= seen.held, "only a held attempt is verified twice", str(retried - seen.held))


def _check_effects(world: "World") -> None:
    """Check that each idempotency key had one effect, and each effect an answered request."""
    made: dict[str, Table[Any]] = {"submit_work": WORKS, "give_work": AWARDS, "post_transaction": TRANSACTIONS}
    for kind, table in made.items():
        answered = [each.resource_id for each in world.seen.answers if each.kind == kind]
        twice = len(answered) - len(set(answered))
        require_promise(not twice, "one key has one effect", f"two keys of {kind} have the same")
        if kind == "post_transaction":
            continue
        created = len(world.seen.created.get(table.collection.name, ()))
        require_promise(created == len(answered), "one key has one effect", f"{created} of {len(answered)} {kind}")
