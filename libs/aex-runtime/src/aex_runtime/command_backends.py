"""Settings and backends for commands that read the data of a suite."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from aex_runtime.bus.port import BusError
from aex_runtime.commandline import CommandFailed, UserError
from aex_runtime.logs import configure_logging
from aex_runtime.settings import BadConfiguration, RuntimeSettings, describe_setting_problems
from aex_runtime.store.port import StoreError

if TYPE_CHECKING:
    from aex_runtime.service import Backends

_SQLITE = "sqlite:///"


def read_settings(data_dir: Path) -> RuntimeSettings:
    """Read the settings from the environment, with this data directory. Raises `UserError`."""
    try:
        return RuntimeSettings(data_dir=data_dir.expanduser().resolve())
    except ValidationError as error:
        raise UserError("; ".join(describe_setting_problems(error)), "correct the AEX_… variable") from None


def read_suite_settings_and_configure_logging(data_dir: Path) -> RuntimeSettings:
    """Read the settings of an existing suite, and send warnings of the libraries to stderr.

    Raises `UserError` if the data directory is missing.
    """
    settings = read_settings(data_dir)
    if settings.store_url is None and not settings.data_dir.is_dir():
        raise UserError(f"there is no data directory {data_dir}", "name the suite's with --data-dir")
    configure_logging("aex", "warning", "console")
    return settings


def has_store(settings: RuntimeSettings, service: str) -> bool:
    """Return whether the service's store exists. Opening it would create its file."""
    url = settings.effective_store_url(service)
    return not url.startswith(_SQLITE) or Path(url.removeprefix(_SQLITE)).exists()


@asynccontextmanager
async def open_service_backends(settings: RuntimeSettings, service: str) -> AsyncIterator["Backends"]:
    """Open the service's backends for the block and close them.

    Raises `UserError` for an invalid setting. Errors of store and bus in the block become `CommandFailed`.
    """
    from aex_runtime.service import open_backends  # noqa: PLC0415 loads FastAPI, which `aex token` does not need

    try:
        backends = open_backends(settings, service)
    except BadConfiguration as error:
        raise UserError(str(error), "correct the variable") from None
    try:
        yield backends
    except (StoreError, BusError) as error:
        raise CommandFailed(f"{service}: {error}; nothing was lost; retry") from None
    finally:
        await backends.bus.close()
        await backends.store.close()
