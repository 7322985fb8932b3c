"""Whose processor time a load took: each service's, its confined workers', the emulators', and the load's own."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil

from aex_cli.suite.service_spec import MODULES
from tests.e2e.live import Live

GENERATORS = "the load itself"
Times = Mapping[str, float]
"""Seconds of the processor by whose they are."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Seconds of the processor that had been spent by then."""

    ours: Times
    machine: float
    clock: float
    """Seconds of all processors together, idle ones too."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent from one moment to another."""

    ours: Times
    machine: float
    """By everybody on this machine, us too."""
    clock: float

    @classmethod
    def between(cls, begin: Moment, end: Moment) -> "Spent":
        """End less begin. A process that ended in between counts with what its parent took over from it."""
        ours = {name: max(seconds - begin.ours.get(name, 0.0), 0.0) for name, seconds in end.ours.items()}
        return cls(ours, end.machine - begin.machine, end.clock - begin.clock)

    @property
    def our_share(self) -> float:
        """Of all processors, 0 to 1."""
        return sum(self.ours.values()) / self.clock

    @property
    def their_share(self) -> float:
        """What others on this machine took."""
        return max(self.machine / self.clock - self.our_share, 0.0)


def spent_so_far(live: Live, generators: Sequence[int]) -> Moment:
    """Of the suite, the emulators and these processes."""
    ours: dict[str, float] = defaultdict(float)
    for service in MODULES:
        for replica in range(1, live.replicas + 1):
            process = live.process(service, replica)
            ours[service] += _seconds(process)
            for worker in process.children(recursive=True):
                ours["its workers"] += _seconds(worker)
    if live.backend.emulators is not None:
        ours["Firestore's emulator"] = _seconds(psutil.Process(live.backend.emulators.firestore.pid))
        ours["Pub/Sub's emulator"] = _seconds(psutil.Process(live.backend.emulators.pubsub.pid))
    for pid in generators:
        ours[GENERATORS] += _seconds(psutil.Process(pid))
    every = psutil.cpu_times()
    rest = every.idle + getattr(every, "iowait", 0.0)
    # Times of guests are in those of users already.
    clock = sum(every) - getattr(every, "guest", 0.0) - getattr(every, "guest_nice", 0.0)
    return Moment(ours, clock - rest, clock)


def _seconds(process: psutil.Process) -> float:
    """Its own, and those of children that have ended."""
    with suppress(psutil.NoSuchProcess):
        return float(sum(process.cpu_times()[:4]))
    return 0.0
