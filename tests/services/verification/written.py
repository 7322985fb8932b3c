"""A store in memory that tells what was written."""

from aex_runtime.store.buffer import BufferedTransaction, Write
from aex_runtime.store.memory import MemoryStore


class TellingStore(MemoryStore):
    """Remembers every write that was committed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[Write] = []

    async def commit(self, transaction: BufferedTransaction) -> bool:
        committed = await super().commit(transaction)
        if committed:
            self.written += transaction.writes
        return committed
