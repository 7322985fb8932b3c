"""What a consumer tells the server about the messages of one subscription."""

import asyncio
import math
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial

import structlog
from google.pubsub_v1.types import AcknowledgeRequest, ModifyAckDeadlineRequest

from aex_runtime.bus.port import BusError, BusUnavailable
from aex_runtime.bus.pubsub_connection import Clients, PubSubConnection
from aex_runtime.bus.pubsub_window import Window

_MAX_IDS = 1_000
_log = structlog.get_logger(__name__)


class Subscription:
    """Acks together what comes together: one request under way, the next takes what has gathered meanwhile."""

    def __init__(self, connection: PubSubConnection, path: str, window: Window) -> None:
        self.path = path
        self.window = window
        self._connection = connection
        self._to_ack: list[str] = []
        self._acking: asyncio.Task[None] | None = None

    def ack(self, ack_ids: Iterable[str]) -> None:
        """Tell the server, in a moment, that these are dealt with. An ack that is lost means one more delivery."""
        self._to_ack.extend(ack_ids)
        if self._to_ack and (self._acking is None or self._acking.done()):
            self._acking = asyncio.create_task(self._ack_all())

    async def acked(self, within_s: float) -> None:
        """Wait until no ack is under way; what is not out by then is lost."""
        if self._acking is not None:
            _, late = await asyncio.wait({self._acking}, timeout=within_s)
            for task in late:
                task.cancel()
                await asyncio.wait({task})
                _log.warning("acks_lost", subscription=self.path, reason="the consumer stopped")

    async def hold(self, ack_ids: Sequence[str], duration: timedelta, within_s: float) -> None:
        """Keep the server from delivering these for that long; 0 lets others have them at once.

        Raises `BusUnavailable`.
        """
        seconds = math.ceil(duration.total_seconds())
        for start in range(0, len(ack_ids), _MAX_IDS):
            some = ack_ids[start : start + _MAX_IDS]
            request = ModifyAckDeadlineRequest(subscription=self.path, ack_ids=some, ack_deadline_seconds=seconds)
            try:
                await self._connection.call(self.path, partial(_modify, request), within_s)
            except BusUnavailable:
                raise
            except BusError as error:  # not the fault of any message
                raise BusUnavailable(str(error)) from error

    async def _ack_all(self) -> None:
        while self._to_ack:
            some, self._to_ack = self._to_ack[:_MAX_IDS], self._to_ack[_MAX_IDS:]
            request = AcknowledgeRequest(subscription=self.path, ack_ids=some)
            try:
                await self._connection.call(self.path, partial(_acknowledge, request))
            except BusError as error:
                _log.warning("acks_lost", subscription=self.path, count=len(some), reason=str(error))


async def _modify(request: ModifyAckDeadlineRequest, clients: Clients, timeout_s: float) -> None:
    await clients.subscriber.modify_ack_deadline(request, retry=None, timeout=timeout_s)


async def _acknowledge(request: AcknowledgeRequest, clients: Clients, timeout_s: float) -> None:
    await clients.subscriber.acknowledge(request, retry=None, timeout=timeout_s)
