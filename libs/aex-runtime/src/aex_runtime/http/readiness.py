"""Whether a service can do its work: each of its parts asked at once, each with a deadline."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import structlog

from aex_runtime.blobs.port import BlobError
from aex_runtime.bus.port import BusError
from aex_runtime.store.port import StoreError

Probe = Callable[[], Awaitable[None]]
Missing = Callable[[], str | None]
"""Why a part of the service is not there, in words for anybody; None where it is."""
PROBE_DEADLINE_S = 3.0
_OURS = (StoreError, BusError, BlobError)
"""They say where and what to do, in words without content. For the log alone: anybody may ask whether we are ready."""
_log = structlog.get_logger(__name__)


async def what_is_down(probes: Mapping[str, Probe], deadline_s: float = PROBE_DEADLINE_S) -> dict[str, str]:
    """The names of the parts that fail, each with the kind of its failure; empty where all is well."""
    results = await asyncio.gather(*(_ask(name, probe, deadline_s) for name, probe in probes.items()))
    return {name: failure for name, failure in zip(probes, results, strict=True) if failure is not None}


def what_is_missing(parts: Mapping[str, Missing]) -> dict[str, str]:
    """The names of the parts that are not there, each with its reason; empty where all are."""
    reasons = {name: missing() for name, missing in parts.items()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


class PartMissing(Exception):
    """A part is not there; the message says why, in words for anybody."""


def there(missing: Missing) -> Probe:
    """The probe of a part that tells of itself that it is missing. Raises `PartMissing`."""

    async def probe() -> None:
        reason = missing()
        if reason is not None:
            raise PartMissing(reason)

    return probe


async def _ask(name: str, probe: Probe, deadline_s: float) -> str | None:
    reason = None
    try:
        async with asyncio.timeout(deadline_s):
            await probe()
    except TimeoutError:
        failure = "no answer in time"
    except Exception as error:  # noqa: BLE001 whatever a part raises, it is not ready
        failure = type(error).__name__
        if isinstance(error, _OURS):
            reason = str(error)
    else:
        return None
    _log.warning("part_not_ready", part=name, failure=failure, reason=reason)
    return failure
