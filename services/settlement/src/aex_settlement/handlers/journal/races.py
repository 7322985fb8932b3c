"""Going on where another process came first."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from aex_models.backoff import Backoff
from aex_runtime.store.port import Contention
from aex_settlement.deps import Deps

_TRIES = 12
_PAUSE = Backoff(first=timedelta(milliseconds=5), cap=timedelta(milliseconds=200))
_log = structlog.get_logger("aex_settlement.races")


class Lost(Exception):
    """What this process built on was changed by another meanwhile. Nothing was written."""


async def again(deps: Deps, what: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do `work`, and do it anew where it lost. Raises `Contention` after bounded tries."""
    for lost in range(1, _TRIES + 1):
        try:
            await work()
        except Lost as error:
            delay = _PAUSE.delay(lost, deps.ids.jitter())
            _log.info(what, reason=str(error), lost=lost, of=_TRIES, retry_in_s=delay.total_seconds())
            await asyncio.sleep(delay.total_seconds())
        else:
            return
    raise Contention(f"{what}: lost against others {_TRIES} times")
