"""Wakes the sealer of this process."""

import asyncio


class Bell:
    """Rung after each commit to the ledger; however often it rings before it is heard, it is heard once."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Something was committed. Called on the event loop."""
        self._rung.set()

    async def heard(self, timeout_s: float) -> bool:
        """Wait until it rings, or rang since it was last heard; False where it did not in that time."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
        except TimeoutError:
            return False
        self._rung.clear()
        return True
