import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings

from aex_governance.handlers.fold_log import Rebuilder
from aex_governance.handlers.rebuild import rebuild_projections
from aex_governance.repository import OUTCOMES, TABLES, VALIDATIONS
from aex_governance.rules.projection_documents import LogRecord, ValidationRecord
from aex_governance.rules.projection_increments import record_increments
from aex_governance.text.free_text import compute_sketch, encode_sketch
from aex_models.governance import Action, ValidationDecision
from aex_runtime.clock import SetClock
from aex_runtime.ids import SeededIds
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store, Transaction, key_of
from tests.services.governance.rebuild.recount import recounted, stored
from tests.services.governance.requests import NOW, validation_request
from tests.services.governance.rules.test_projection_merging import logs

WORDS = tuple(f"word{number}" for number in range(60))


def test_full_index_does_not_depend_on_the_order() -> None:
    text = encode_sketch(compute_sketch(WORDS))
    log = [
        ValidationRecord(
            request=validation_request(
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
async def test_rebuild_from_the_stored_log_equals_a_recount(log: Sequence[LogRecord]) -> None:
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
def test_every_kind_of_document_is_compared(kind: type[Any]) -> None:
    record = ValidationRecord(
        request=validation_request(),
        decision=ValidationDecision(valid=True, action=Action.ALLOW),
        decided_at=NOW,
        is_free=True,
        sketch=encode_sketch(compute_sketch(WORDS)),
    )
    assert kind in {each.kind for each in record_increments(record)}
