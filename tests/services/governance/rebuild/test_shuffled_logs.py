"""The order of the log does not matter: shuffled, cut in two, or merged the other way round, it comes to the same."""

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_governance.handlers.rebuild.rebuild_projections import rebuild_projections
from aex_governance.handlers.rebuild.rebuilder import Rebuilder
from aex_governance.repository.log import OUTCOMES, VALIDATIONS
from aex_governance.repository.projections import TABLES
from aex_governance.rules.projection.increments import increments
from aex_governance.rules.projection.merging import merged
from aex_governance.rules.projection.records import LogRecord, ValidationRecord
from aex_governance.rules.sketch import encoded, sketch_of
from aex_models.canonical import sha256_hex
from aex_models.governance import Action, Flag, Severity, ValidationDecision
from aex_runtime.clock import SetClock
from aex_runtime.ids import SeededIds
from aex_runtime.store.keys import key_of
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store, Transaction
from tests.services.governance.asking import NOW, asked
from tests.services.governance.logbook import ended
from tests.services.governance.rebuild.recount import Projections, recounted, stored

NAMES = st.sampled_from(["bot", "crew", "a/b", "bot:1"])
DOMAINS = st.sampled_from(["general", "law/tax"])
VALUES = st.floats(-1e15, 1e15) | st.integers(-(10**6), 10**6) | st.booleans() | st.none()
METRICS = st.dictionaries(st.sampled_from([f"m{number}" for number in range(40)]), VALUES, max_size=40)
MOMENTS = st.integers(0, 200).map(lambda minutes: NOW + timedelta(minutes=minutes))
WORDS = tuple(f"word{number}" for number in range(60))


@st.composite
def validations(draw: st.DrawFn, number: int) -> ValidationRecord:
    """A record of the log; of few texts, so that they meet in the indexes."""
    text = draw(st.integers(0, 3))
    is_free = draw(st.booleans())
    action = draw(st.sampled_from([Action.ALLOW, Action.ALLOW, Action.HOLD, Action.REJECT]))
    flags = draw(st.lists(st.sampled_from(["velocity", "self_dealing"]), unique=True))
    request = asked(
        attempt_id=f"att_{number}",
        contract_id=f"ctr_{number}",
        agent={"id": draw(NAMES)},
        consumer={"id": draw(NAMES)},
        domain=draw(DOMAINS),
        extracted_metrics=draw(METRICS),
        output_hash=sha256_hex(str(text).encode()),
        received_at=draw(MOMENTS),
    )
    return ValidationRecord(
        request=request,
        decision=ValidationDecision(
            valid=action is Action.ALLOW,
            action=action,
            flags=tuple(Flag(rule=rule, severity=Severity.MAJOR) for rule in flags),
        ),
        decided_at=draw(MOMENTS),
        is_free=is_free,
        sketch=encoded(sketch_of(WORDS[text : text + 50])) if is_free else None,
    )


@st.composite
def logs(draw: st.DrawFn) -> list[LogRecord]:
    """Validations and outcomes of the same few parties."""
    count = draw(st.integers(0, 40))
    found: list[LogRecord] = [draw(validations(number)) for number in range(count)]
    statuses = st.sampled_from(["passed", "exhausted", "failed"])
    found += [ended(n, draw(statuses), agent_id=draw(NAMES), domain=draw(DOMAINS)) for n in range(0, count, 2)]
    return found


@given(logs(), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_a_log_in_any_order_comes_to_the_same(log: list[LogRecord], chance: random.Random) -> None:
    shuffled = chance.sample(log, len(log))
    assert recounted(shuffled) == recounted(log)


@given(logs(), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_parts_of_a_log_merged_either_way_come_to_the_whole(log: list[LogRecord], chance: random.Random) -> None:
    cut = chance.randrange(len(log) + 1)
    left, right = recounted(log[:cut]), recounted(log[cut:])
    assert _merged(left, right) == _merged(right, left) == recounted(log)


def _merged(left: Projections, right: Projections) -> dict[tuple[str, str], Any]:
    both = {place: merged(left[place], right[place]) for place in left if place in right}
    return {**left, **right, **both}


def test_an_index_that_is_full_keeps_the_same_members_in_whatever_order_they_came() -> None:
    text = encoded(sketch_of(WORDS))
    log = [
        ValidationRecord(
            request=asked(
                attempt_id=f"att_{number}", agent={"id": f"bot{number}"}, received_at=NOW + timedelta(hours=number)
            ),
            decision=ValidationDecision(valid=True, action=Action.ALLOW),
            decided_at=NOW,
            is_free=True,
            sketch=text,
        )
        for number in range(60)
    ]
    assert recounted(reversed(log)) == recounted(log) == recounted(random.Random(3).sample(log, 60))
    assert max(len(each.sightings) for each in recounted(log).values() if hasattr(each, "sightings")) == 32


@given(log=logs())
@settings(max_examples=15)
async def test_a_rebuild_from_the_stored_log_comes_to_the_same(log: list[LogRecord]) -> None:
    """By the order of its keys, which is by hash, in chunks: neither the order in which it came nor all at once."""
    store = MemoryStore()
    await _keep(store, log)
    await rebuild_projections(Rebuilder(store, SetClock(NOW), SeededIds(1), lambda *_: None))
    assert await stored(store) == ({2: recounted(log)} if log else {})


async def _keep(store: Store, log: Sequence[LogRecord]) -> None:
    async def write(transaction: Transaction) -> None:
        for record in log:
            if isinstance(record, ValidationRecord):
                transaction.put(VALIDATIONS.collection, key_of(record.request.attempt_id), *VALIDATIONS.encode(record))
            else:
                transaction.put(OUTCOMES.collection, key_of(record.contract_id), *OUTCOMES.encode(record))

    await store.transact(write)


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_every_kind_of_document_is_among_those_compared(kind: type[Any]) -> None:
    record = ValidationRecord(
        request=asked(),
        decision=ValidationDecision(valid=True, action=Action.ALLOW),
        decided_at=NOW,
        is_free=True,
        sketch=encoded(sketch_of(WORDS)),
    )
    assert kind in {each.kind for each in increments(record)}
