"""Reaching into a service's store from the command line, beside the service that may be running on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import ValidationError

from aex_runtime.bus.port import BusError
from aex_runtime.commandline.errors import Failed, UserError
from aex_runtime.logs import configure_logging
from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import BadConfiguration, RuntimeSettings
from aex_runtime.store.port import StoreError

_SQLITE = "sqlite:///"


def read_settings(data_dir: Path) -> RuntimeSettings:
    """The settings that the services would read, on this data directory. Raises `UserError`."""
    try:
        return RuntimeSettings(data_dir=data_dir.expanduser().resolve())
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or 'settings'}: {each['msg']}"
            for each in error.errors(include_input=False)
        )
        raise UserError(problems, "correct the AEX_… variable") from None


def existing_suite(data_dir: Path) -> RuntimeSettings:
    """The settings of a suite that has run, for a command that only looks. Raises `UserError` where there is none."""
    settings = read_settings(data_dir)
    if settings.store_url is None and not settings.data_dir.is_dir():
        raise UserError(f"there is no data directory {data_dir}", "name the suite's with --data-dir")
    configure_logging("aex", "warning", "console")
    return settings


def has_store(settings: RuntimeSettings, service: str) -> bool:
    """Whether the service has kept anything yet: to look must not make its file."""
    url = settings.store_url_of(service)
    return not url.startswith(_SQLITE) or Path(url.removeprefix(_SQLITE)).exists()


@asynccontextmanager
async def backends_of(settings: RuntimeSettings, service: str) -> AsyncIterator[Backends]:
    """The service's store and bus, closed at the end. Store and bus that fail raise `Failed`."""
    try:
        backends = open_backends(settings, service)
    except BadConfiguration as error:
        raise UserError(str(error), "correct the variable") from None
    try:
        yield backends
    except (StoreError, BusError) as error:
        raise Failed(f"{service}: {error}; nothing was lost, try again") from None
    finally:
        await backends.bus.close()
        await backends.store.close()
