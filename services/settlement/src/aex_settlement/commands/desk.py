"""The ledger of a suite, opened from the command line beside whatever runs on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aex_runtime.commandline.embedded import backends_of
from aex_runtime.settings import RuntimeSettings
from aex_runtime.unit_of_work import UnitOfWork
from aex_settlement.deps import Deps

SERVICE = "settlement"


@asynccontextmanager
async def open_desk(settings: RuntimeSettings) -> AsyncIterator[Deps]:
    """What handlers are given, closed at the end. A store that fails raises `Failed`, bad settings `UserError`."""
    async with backends_of(settings, SERVICE) as backends:
        store, clock = backends.store, backends.clock
        yield Deps(UnitOfWork(SERVICE, store, clock, lambda _: None), store, clock, backends.ids, lambda: None)
