"""The service's settings as the handlers need them."""

from dataclasses import dataclass
from datetime import timedelta

from aex_models.backoff import Backoff

SYSTEM_BACKOFF = Backoff(first=timedelta(seconds=1), cap=timedelta(seconds=60))
"""Between the platform's own tries, after a verifier that broke down."""
LEASE = timedelta(seconds=90)
_BESIDE = timedelta(seconds=60)
"""For the verdict, and for writing raw data out."""
_GOVERNANCE_CAP = timedelta(seconds=60)


def governance_wait(waited: timedelta, jitter: float) -> timedelta:
    """Until governance is asked again of an outcome that has waited for so long: at most a quarter of that more.

    From a second to a minute: after a short outage nobody waits for long, and during a long one nobody asks often.
    """
    return Backoff(first=max(timedelta(seconds=1), waited / 4), cap=_GOVERNANCE_CAP).delay(1, jitter)


def verifying_lease(reading: timedelta, reviewing: timedelta) -> timedelta:
    """What outlasts a verification whose raw data take two workers all of their time, those of both owners and then the
    consumer's alone, and whose reviewer takes all of its own.

    A shorter one costs a second verification elsewhere; what comes of it is the same, and is recorded once.
    """
    return max(LEASE, 2 * reading + reviewing + _BESIDE)


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits and switches."""

    max_system_retries: int = 5
    """How often the platform tries again after its own failure, before an operator is asked."""
    lease: timedelta = LEASE
    """After this time what was to be concluded and was not is taken for lost and done anew."""
    verifying: timedelta = LEASE
    """After this time a verification that did not end is taken for lost and begun anew."""
    governance_check: bool = True
    """May be off only in the embedded default."""
