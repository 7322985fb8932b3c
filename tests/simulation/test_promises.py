"""Checks of the checkers: a correct run with one changed record is refused."""

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from aex_governance.repository import HOLDS, PROFILES
from aex_models.settlement import Settlement, SettlementStatus
from aex_runtime.http.idempotency import Effect, IdempotentRequest
from aex_runtime.store.port import Query, Transaction
from aex_runtime.store.table import Table
from aex_settlement.repository.ledger import SETTLEMENTS, TRANSACTIONS
from aex_verification.repository import ATTEMPTS, CONTRACTS, OUTCOMES
from tests.simulation.actions.machinery import rebuild_memory
from tests.simulation.engine.commit_log import Change, Commit
from tests.simulation.engine.dice import use_dice
from tests.simulation.engine.interleaving import run_in_virtual_time
from tests.simulation.promises.at_rest import check_at_rest
from tests.simulation.promises.changes import check_commit
from tests.simulation.promises.invariants import check_invariants
from tests.simulation.promises.promise import BrokenPromise
from tests.simulation.promises.seen import Answer, Observations
from tests.simulation.world import World

Commits = list[Commit]
Retold = Callable[[Commits], Commits]
_STEPS = 150
_SEEDS = range(20)


@pytest.fixture(scope="module")
def world() -> World:
    """A run with settlements, holds and poison in it."""
    for seed in _SEEDS:
        world = World(seed)
        run_in_virtual_time(world.run(_STEPS))
        seen = world.seen
        if (
            seen.held
            and seen.poison
            and any(seen.attempts.values())
            and any(map(is_effective, seen.settlements.values()))
        ):
            return world
    raise AssertionError("no run has all of it")


def is_effective(settlement: Settlement) -> bool:
    return settlement.status is SettlementStatus.SETTLED


def repeated_event(world: World, commits: Commits) -> None:
    seen = Observations(poison=world.seen.poison)
    for commit in commits:
        check_commit(seen, commit)


def test_what_happened_is_believed(world: World) -> None:
    repeated_event(world, world.suites[0].environment.commit_log.commits)


def without_events(event_type: str) -> Retold:
    """State that was committed without its event."""
    return lambda commits: [
        replace(each, events=tuple(event for event in each.events if event.type != event_type)) for each in commits
    ]


def without(table: Table[Any]) -> Retold:
    """Drop the records of one service."""
    name = table.collection.name
    return lambda commits: [
        replace(each, changes=tuple(change for change in each.changes if change.collection != name)) for each in commits
    ]


def last_of(table: Table[Any], commits: Commits, that: Callable[[Any], bool] = bool) -> tuple[Commit, Change]:
    """Return the last change to such a record, with its commit."""
    changes = [(commit, change) for commit in commits for change in commit.changes if change.after]
    of_table = [each for each in changes if each[1].collection == table.collection.name]
    return [each for each in of_table if that(json.loads(each[1].after or b""))][-1]


def changed_copy(
    table: Table[Any], change: Callable[[Any], None], that: Callable[[Any], bool] = bool, key: str | None = None
) -> Retold:
    """At the end the last such record is written once more, changed; under another `key` it is a new one."""

    def retold(commits: Commits) -> Commits:
        commit, last = last_of(table, commits, that)
        record = json.loads(last.after or b"")
        change(record)
        before = None if key else last.after
        repeated = Change(last.collection, key or last.key, before, json.dumps(record).encode())
        return [*commits, Commit(commit.service, (repeated,), commit.events)]

    return retold


def unlike(table: Table[Any], change: Callable[[Any], None], that: Callable[[Any], bool] = bool) -> Retold:
    """The last such record was written otherwise."""

    def retold(commits: Commits) -> Commits:
        commit, last = last_of(table, commits, that)
        record = json.loads(last.after or b"")
        change(record)
        other = replace(last, after=json.dumps(record).encode())
        changed = replace(commit, changes=tuple(other if each is last else each for each in commit.changes))
        return [changed if each is commit else each for each in commits]

    return retold


def set_to(*path: str, value: Any) -> Callable[[Any], None]:
    def change(record: Any) -> None:
        for part in path[:-1]:
            record = record[part]
        record[path[-1]] = value

    return change


def is_judged(record: Any) -> bool:
    return bool(record["state"]["verification"]["judged"])


def is_final(record: Any) -> bool:
    return record["state"]["status"] in {"passed", "exhausted", "failed", "expired", "finalised"}


def has_a_fee(record: Any) -> bool:
    return Decimal(record["cost"]["fee"]) > 0


def expired_at_once(record: Any) -> None:
    record["state"] |= {"status": "expired", "updated_at": "2025-01-01T00:00:00Z"}


def one_micro_more(record: Any) -> None:
    """Change amounts by one micro so that they still sum to zero."""
    debited, credited = record["postings"][:2]
    debited["amount"] += 1
    credited["amount"] -= 1


OWED_TOPICS = (
    *("work.submitted", "contract.awarded", "output.submitted", "output.rejected"),
    *("outcome.held", "outcome.reviewed", "outcome.verified", "settlement.completed"),
)
LIES = {
    **{f"no {topic}": (without_events(topic), "no event is lost") for topic in OWED_TOPICS},
    "an outcome that changes": (changed_copy(OUTCOMES, set_to("domain", value="x")), "no final record ever changes"),
    "a posting that changes": (changed_copy(TRANSACTIONS, set_to("reason", value="x")), "no final record ever changes"),
    "a contract that goes on": (
        changed_copy(CONTRACTS, set_to("state", "state_version", value=99), is_final),
        "no final record ever changes",
    ),
    "a contract that is settled twice": (
        changed_copy(TRANSACTIONS, set_to("id", value="txn_2"), lambda each: each["kind"] == "settlement", key="other"),
        "a contract is settled at most once",
    ),
    "an attempt that counts no longer": (
        changed_copy(ATTEMPTS, set_to("counted", value=False), lambda each: each["counted"]),
        "no attempt is uncounted",
    ),
    "an attempt that was never judged": (
        changed_copy(CONTRACTS, set_to("state", "verification", "attempts_used", value=0), is_judged),
        "no attempt is uncounted",
    ),
    "more attempts than there are": (
        unlike(CONTRACTS, set_to("state", "verification", "attempts_used", value=9), is_judged),
        "attempts stay within their budget",
    ),
    "a candidate that came too late": (
        changed_copy(ATTEMPTS, set_to("received_at", value="2036-01-01T00:00:00Z"), key="other"),
        "nothing is taken in after the deadline",
    ),
    "a hold that is decided again": (
        changed_copy(HOLDS, set_to("decided_by", value="eve"), lambda each: each["decision"]),
        "each hold is decided once",
    ),
    "a contract that no operator released": (without(HOLDS), "what is held waits for an operator"),
    "a settlement of another amount": (
        unlike(OUTCOMES, set_to("billing_impact", "base", value="7")),
        "a total is base and bonus less penalty",
    ),
    "a settlement of nothing": (without(OUTCOMES), "only an outcome is settled"),
    "a settlement that was booked at another amount": (
        unlike(TRANSACTIONS, one_micro_more, lambda each: each["kind"] == "settlement"),
        "what is booked is the cost",
    ),
    "a fee that is not the rate's": (
        unlike(SETTLEMENTS, set_to("fee_rate", value="0.5"), has_a_fee),
        "a fee is the total times its rate",
    ),
    "a contract that expired too early": (
        unlike(CONTRACTS, expired_at_once, lambda each: each["state"]["status"] == "passed"),
        "nothing expires before its deadline",
    ),
    "a deadline that was moved": (
        unlike(CONTRACTS, set_to("state", "deadline", value="2036-01-01T00:00:00Z"), is_final),
        "a deadline stays as it was agreed",
    ),
    "a settlement without a transaction": (without(TRANSACTIONS), "settlement and ledger agree"),
    "a settlement that was edited": (
        changed_copy(SETTLEMENTS, set_to("revisions", value=[]), lambda each: each["status"] == "settled"),
        "no final record ever changes",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_altered_record_of_a_run_is_refused(world: World, lie: str) -> None:
    retold, promise = LIES[lie]
    with pytest.raises(BrokenPromise) as broken:
        repeated_event(world, retold(world.suites[0].environment.commit_log.commits))
    assert broken.value.name == promise


async def test_an_event_that_never_arrived_is_missed(world: World) -> None:
    handled = world.suites[0].environment.commit_log.handled
    lost = next(each for each in sorted(handled) if each[0] == "settlement")
    handled.remove(lost)
    with pytest.raises(BrokenPromise, match="no event is lost"):
        await check_at_rest(world)
    handled.add(lost)


async def test_poison_that_was_lost_is_missed(world: World) -> None:
    world.seen.poison.add(("governance", "evt_poison_never_seen"))
    with pytest.raises(BrokenPromise, match="poison is kept, not lost"):
        await check_at_rest(world)
    world.seen.poison.discard(("governance", "evt_poison_never_seen"))


async def test_a_good_message_that_was_given_up_is_noticed(world: World) -> None:
    poison = world.seen.poison.copy()
    world.seen.poison.clear()
    with pytest.raises(BrokenPromise, match="only poison is given up on"):
        await check_at_rest(world)
    world.seen.poison.update(poison)


async def test_effect_without_a_request_is_detected(world: World) -> None:
    async def nothing(_: IdempotentRequest) -> Effect:
        return Effect("work_1", is_replay=True)

    world.seen.answers.append(
        Answer("submit_work", "work-publisher", nothing, IdempotentRequest("s", "k", "b"), "work_1")
    )
    with pytest.raises(BrokenPromise, match="one key has one effect"):
        await check_at_rest(world)
    world.seen.answers.pop()


async def test_a_handler_that_failed_by_itself_is_noticed(world: World) -> None:
    unexpected_errors = world.suites[0].environment.commit_log.unexpected_errors
    unexpected_errors.append("settlement: outcome.verified ctr_1: KeyError")
    with pytest.raises(BrokenPromise, match="handlers fail for outages alone: settlement"):
        await check_invariants(world)
    unexpected_errors.clear()
    await check_invariants(world)


async def test_a_memory_that_is_wrong_is_noticed_before_it_is_rebuilt(world: World) -> None:
    store = world.suites[0].governance.memory
    profile = PROFILES.decode((await store.query_page(Query(PROFILES.collection)))[0])
    more = profile.record.tally.model_copy(update={"successes": profile.record.tally.successes + 1})
    body, fields = PROFILES.encode(profile.record.model_copy(update={"tally": more}))
    kept = profile.document

    async def wrong(transaction: Transaction) -> None:
        transaction.put(PROFILES.collection, kept.key, body, fields)

    async def right(transaction: Transaction) -> None:
        transaction.put(PROFILES.collection, kept.key, kept.body, kept.fields)

    await store.transact(wrong)
    with use_dice(0, replica=0), pytest.raises(AssertionError, match="not what the log comes to"):
        await rebuild_memory(world)
    await store.transact(right)
    await check_at_rest(world)
