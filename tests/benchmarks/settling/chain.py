"""What a candidate needs at least on its way to its settlement, and nothing else: the commits and the bus hops.

A commit with the candidate; `output.submitted`; a commit with the verdict, one in governance, one with the outcome;
`outcome.verified`; a commit of the settlement. Each as durable as the services' own, on the same store and bus, with as
many documents; two processes, as the hop to settlement is one between processes. No HTTP, no models, no rules.

`python -m tests.benchmarks.settling.chain FOLDER` is the process in settlement's place.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop

from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Ack, Delivery, Disposition, Message, Outgoing
from aex_runtime.store.port import Collection, Transaction
from aex_runtime.store.sqlite import SQLiteStore

SETTLEMENTS = "settlements"
CONCURRENCY = 16
"""Of the services' consumers."""
POSTED, JUDGED, VALIDATED, CONCLUDED, SETTLED = 5, 3, 14, 5, 6
"""Documents that the services write in each commit."""
RECORD = b'{"' + b"x" * 1_200 + b'": 1}'
EVENT = b'{"' + b"x" * 2_400 + b'": 1}'


def event(topic: str, key: str) -> Outgoing:
    """A message about this contract."""
    attributes = {"ce-id": f"evt_{key}", "ce-type": topic, "ce-source": "/aex/bare", "content-type": "application/json"}
    return Outgoing(topic, Message({**attributes, "ce-subject": key}, EVENT))


async def commit(store: SQLiteStore, key: str, documents: int, last: str = "last") -> None:
    """One durable commit of so many documents; that of the collection `last` has the key."""

    async def write(transaction: Transaction) -> None:
        for number in range(documents - 1):
            transaction.put(Collection("records"), f"{last}-{key}-{number}", RECORD, {})
        transaction.create(Collection(last), key, RECORD, {})

    await store.transact(write)


class Chain:
    """The part of the way in verification's and in governance's place."""

    def __init__(self, folder: Path) -> None:
        self._verification = SQLiteStore(folder / "verification.sqlite3")
        self._governance = SQLiteStore(folder / "governance.sqlite3")
        self._bus = EmbeddedBus(folder / "bus")

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Chain"]:
        """Handles what is posted until the block ends."""
        consuming = asyncio.create_task(
            self._bus.consume("verification", ["output.submitted"], self._verify, CONCURRENCY)
        )
        try:
            yield self
        finally:
            consuming.cancel()
            await asyncio.wait({consuming})
            await self._bus.close()
            await self._verification.close()
            await self._governance.close()

    async def post(self, key: str) -> None:
        """As `POST /v1/contracts/{id}/outputs`: the candidate is durable, its verification under way."""
        await commit(self._verification, key, POSTED, "posted")
        await self._bus.publish([event("output.submitted", key)])

    async def _verify(self, delivery: Delivery) -> Disposition:
        key = delivery.message.attributes["ce-subject"]
        await commit(self._verification, key, JUDGED, "judged")
        await commit(self._governance, key, VALIDATED, "validated")
        await commit(self._verification, key, CONCLUDED, "concluded")
        await self._bus.publish([event("outcome.verified", key)])
        return Ack()


async def settle(folder: Path) -> None:
    """Settle until killed; says that it begins."""
    bus, store = EmbeddedBus(folder / "bus"), SQLiteStore(folder / "settlement.sqlite3")
    await store.ping()

    async def receive(delivery: Delivery) -> Disposition:
        await commit(store, delivery.message.attributes["ce-subject"], SETTLED, SETTLEMENTS)
        return Ack()

    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await bus.consume("settlement", ["outcome.verified"], receive, CONCURRENCY)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(settle(Path(sys.argv[1])))
