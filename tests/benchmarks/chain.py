"""The raw commits and bus hops that a candidate needs until its settlement.

There is no HTTP, no model and no rule. Five commits and two events are as durable and as large as those of the
services, on the same store and bus. `python -m tests.benchmarks.chain FOLDER` is the process that stands for
settlement.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop

from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Ack, Delivery, Disposition, Message, Outgoing
from aex_runtime.store.port import Collection, Transaction
from aex_runtime.store.sqlite import SQLiteStore

SETTLEMENTS = "settlements"
CONCURRENCY = 16
"""The concurrency of the services' consumers."""
POSTED, GRADED, VALIDATED, CONCLUDED, SETTLED = 5, 3, 14, 5, 6
"""Documents that the services write in each commit."""
RECORD = b'{"' + b"x" * 1_200 + b'": 1}'
EVENT = b'{"' + b"x" * 2_400 + b'": 1}'


def make_event(topic: str, key: str) -> Outgoing:
    """Return a message about this contract."""
    attributes = {"ce-id": f"evt_{key}", "ce-type": topic, "ce-source": "/aex/bare", "content-type": "application/json"}
    return Outgoing(topic, Message({**attributes, "ce-subject": key}, EVENT))


async def commit(store: SQLiteStore, key: str, documents: int, collection: str) -> None:
    """Commit so many documents durably; the one in `collection` has the key."""

    async def write(transaction: Transaction) -> None:
        for number in range(documents - 1):
            transaction.put(Collection("records"), f"{collection}-{key}-{number}", RECORD, {})
        transaction.create(Collection(collection), key, RECORD, {})

    await store.transact(write)


@asynccontextmanager
async def run_chain(folder: Path) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    """Stand for verification and governance; yield the function that posts a candidate."""
    verification = SQLiteStore(folder / "verification.sqlite3")
    governance = SQLiteStore(folder / "governance.sqlite3")
    bus = EmbeddedBus(folder / "bus")

    async def post(key: str) -> None:
        await commit(verification, key, POSTED, "posted")
        await bus.publish([make_event("output.submitted", key)])

    async def verify(delivery: Delivery) -> Disposition:
        key = delivery.message.attributes["ce-subject"]
        await commit(verification, key, GRADED, "graded")
        await commit(governance, key, VALIDATED, "validated")
        await commit(verification, key, CONCLUDED, "concluded")
        await bus.publish([make_event("outcome.verified", key)])
        return Ack()

    consuming = asyncio.create_task(bus.consume("verification", ["output.submitted"], verify, CONCURRENCY))
    try:
        yield post
    finally:
        consuming.cancel()
        await asyncio.wait({consuming})
        for each in (bus, verification, governance):
            await each.close()


async def settle(folder: Path) -> None:
    """Print `ready`, then settle until killed."""
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
