"""The handlers over a store in memory, with everything that they commit in sight."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

from aex_models.events import Event
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission import check_submission
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.clock import SetClock
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.ids import SeededIds
from aex_runtime.measures import UNMEASURED, Measures
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Collection, Document, Store
from aex_runtime.unit_of_work import UnitOfWork
from aex_work_publisher.deps import Deps
from aex_work_publisher.repository import find_committed_work, insert_work
from aex_work_publisher.rules.records import WorkRecord
from tests.services.work_publisher.samples import NOW

NO_KEY = IdempotentRequest("", None, "")


class YieldingStore(MemoryStore):
    """A store whose reads let others go first, as those of a real one do: concurrent commands interleave."""

    async def get(self, collection: Collection, key: str) -> Document | None:
        await asyncio.sleep(0)
        return await super().get(collection, key)

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        await asyncio.sleep(0)
        return await super().get_many(collection, keys)


@dataclass
class Shop:
    """Work-publisher without HTTP."""

    deps: Deps
    store: Store
    clock: SetClock
    events: list[Event] = field(default_factory=list)

    async def keep(self, record: WorkRecord) -> WorkRecord:
        async def write(unit: object) -> None:
            insert_work(unit, record)  # type: ignore[arg-type]

        await self.deps.unit_of_work.run(write)
        return record

    async def kept(self, work_id: str) -> WorkRecord:
        found = await find_committed_work(self.store, work_id)
        assert found is not None
        return found.record


def open_shop(measures: Measures = UNMEASURED) -> Shop:
    """A shop at `NOW`, with the built-in metrics and a fee of 5 %."""
    store, clock = YieldingStore(), SetClock(NOW)
    events: list[Event] = []

    deps = Deps(
        unit_of_work=UnitOfWork("work-publisher", store, clock, lambda by: events.extend(by.events), measures),
        store=store,
        blobs=open_blobs("memory:"),
        ids=SeededIds(1),
        check=partial(check_submission, catalog=Catalog.of()),
        fee_rate=Decimal("0.05"),
    )
    return Shop(deps, store, clock, events)


def keyed(
    key: str, body_digest: str = "", scope: str = "consumer\x1facme\x1f\x1fPOST\x1f/v1/work"
) -> IdempotentRequest:
    return IdempotentRequest(scope, key, body_digest)
