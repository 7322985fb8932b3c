"""Jobs in a worker process of their own: as the services run them."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from aex_outcomes.catalog import Catalog
from aex_outcomes.config import InvalidConfig
from aex_outcomes.confinement.errors import ConfinementError, JobFailed, JobTimeout
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.lifecycle.verifier_job import VerifierRaised
from aex_runtime.commandline.errors import Failed, UserError
from aex_runtime.logs import configure_logging

TIMEOUT_S = 30.0
_MEMORY_MB = 1_024
_MAX_RESULT_BYTES = 16 * 1024 * 1024


class NotJudged(Failed):
    """Who was to judge came to no end: nothing is known of the output."""

    exit_code = 3


def load_catalog(config: Path | None) -> Catalog:
    """The metrics of a configuration, or of the defaults. Raises `UserError`, naming the file and the place in it."""
    try:
        return Catalog.load(config)
    except InvalidConfig as error:
        raise UserError(str(error), "correct the configuration given to --config") from None


@dataclass(frozen=True, slots=True)
class Confines:
    """What a job may do, how long, and what it is called where it fails."""

    who: str = "the engine"
    timeout_s: float = TIMEOUT_S
    warm: tuple[str, ...] = ()
    """Modules that the worker imports before the time runs."""
    children: bool = False
    network: bool = False


def for_custom(ms: int) -> Confines:
    """The engine's, where runs of custom code may take so long: with any, it may start the sandbox's interpreter."""
    return Confines(timeout_s=TIMEOUT_S + ms / 1_000, children=ms > 0)


def run_confined(job: str, payload: dict[str, Any], doing: str, confines: Confines | None = None) -> dict[str, Any]:
    """Run one job and return its answer; on a terminal, say what is being done. Raises `NotJudged`."""
    configure_logging("aex", "error", "console")
    with Console(stderr=True).status(doing):
        return asyncio.run(_run(job, payload, confines or Confines()))


async def _run(job: str, payload: dict[str, Any], confines: Confines) -> dict[str, Any]:
    pool = WorkerPool(
        1,
        confines.timeout_s,
        _MEMORY_MB,
        jobs=[job],
        warm=confines.warm,
        spares=0,
        max_result_bytes=_MAX_RESULT_BYTES,
        children=confines.children,
        network=confines.network,
    )
    try:
        async with pool:
            return await pool.run(job, payload)
    except JobTimeout:
        raise NotJudged(f"{confines.who} did not come to an end within {confines.timeout_s:g} s") from None
    except JobFailed as error:
        # What a verifier raised comes with its kind and place already.
        told = error.message if error.kind == VerifierRaised.__name__ else str(error)
        raise NotJudged(f"{confines.who} failed: {told}") from None
    except ConfinementError as error:
        raise NotJudged(f"the worker of {confines.who} broke down: {type(error).__name__}: {error}") from None


def custom_ms(runs: int, catalog: Catalog) -> int:
    """What so many runs of custom code may take in all, in milliseconds."""
    return runs * catalog.config.sections()["custom"].sandbox.timeout_ms
