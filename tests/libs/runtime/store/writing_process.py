"""A process that writes to a store, for tests that run several of them, or kill one.

python -m tests.libs.runtime.store.writing_process <file> increment <times>
python -m tests.libs.runtime.store.writing_process <file> append <name>      (until killed; prints what is committed)
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from aex_runtime.store.port import Transaction
from aex_runtime.store.sqlite import SQLiteStore
from tests.store.contract import WORKS, increment

_CLIENTS = 8


async def _increment(store: SQLiteStore, times: int) -> None:
    async def create(transaction: Transaction) -> None:
        if await transaction.get(WORKS, "counter") is None:
            transaction.create(WORKS, "counter", b"0", {"state": "open", "due": 1})

    await store.transact(create)
    for _ in range(times):
        await store.transact(increment("counter"))


async def _append(store: SQLiteStore, name: str) -> None:
    async def client(number: int) -> None:
        for step in count():
            pair = [f"{name}-{number}-{step}-{half}" for half in ("a", "b")]

            async def fn(transaction: Transaction, pair: list[str] = pair, due: int = step) -> None:
                for key in pair:
                    transaction.create(WORKS, key, key.encode() * 50, {"state": "open", "due": due})

            await store.transact(fn)
            sys.stdout.write(" ".join(pair) + "\n")
            sys.stdout.flush()

    await asyncio.gather(*map(client, range(_CLIENTS)))


async def _main(path: Path, command: str, argument: str) -> None:
    store = SQLiteStore(path)
    await (_increment(store, int(argument)) if command == "increment" else _append(store, argument))
    await store.close()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
