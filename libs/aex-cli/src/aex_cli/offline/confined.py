"""The engine's jobs in a worker process of their own: as the services run them."""

import asyncio
from pathlib import Path
from typing import Any

from rich.console import Console

from aex_cli.errors import Failed, UserError
from aex_outcomes.catalog import Catalog
from aex_outcomes.config import InvalidConfig
from aex_outcomes.confinement.errors import ConfinementError, JobFailed, JobTimeout
from aex_outcomes.confinement.pool import WorkerPool
from aex_runtime.logs import configure_logging

TIMEOUT_S = 30.0
_MEMORY_MB = 1_024
_MAX_RESULT_BYTES = 16 * 1024 * 1024


class NotJudged(Failed):
    """The engine came to no end: nothing is known of the output."""

    exit_code = 3


def load_catalog(config: Path | None) -> Catalog:
    """The metrics of a configuration, or of the defaults. Raises `UserError`, naming the file and the place in it."""
    try:
        return Catalog.load(config)
    except InvalidConfig as error:
        raise UserError(str(error), "correct the configuration given to --config") from None


def run_confined(job: str, payload: dict[str, Any], doing: str, custom_ms: int = 0) -> dict[str, Any]:
    """Run one job and return its answer; on a terminal, say what is being done. Raises `NotJudged`.

    `custom_ms`: what the runs of custom code may take in it; with any, the worker may start the sandbox's interpreter.
    """
    configure_logging("aex", "error", "console")
    with Console(stderr=True).status(doing):
        return asyncio.run(_run(job, payload, custom_ms))


async def _run(job: str, payload: dict[str, Any], custom_ms: int) -> dict[str, Any]:
    timeout_s = TIMEOUT_S + custom_ms / 1_000
    pool = WorkerPool(
        1,
        timeout_s,
        _MEMORY_MB,
        jobs=[job],
        spares=0,
        max_result_bytes=_MAX_RESULT_BYTES,
        children=custom_ms > 0,
    )
    try:
        async with pool:
            return await pool.run(job, payload)
    except JobTimeout:
        raise NotJudged(f"the engine did not come to an end within {timeout_s:g} s") from None
    except JobFailed as error:
        raise NotJudged(f"the engine failed: {error}") from None
    except ConfinementError as error:
        raise NotJudged(f"the engine's worker broke down: {type(error).__name__}: {error}") from None


def custom_ms(runs: int, catalog: Catalog) -> int:
    """What so many runs of custom code may take in all."""
    return runs * catalog.config.sections()["custom"].sandbox.timeout_ms
