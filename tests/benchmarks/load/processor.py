"""Processor time of a load: services, confined workers, emulators and the load itself."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import psutil

from aex_cli.suite.service_spec import MODULES
from tests.e2e.live import Live


@dataclass(frozen=True, slots=True)
class ProcessorTimes:
    """Processor seconds since the start, or between two moments."""

    by_name: Mapping[str, float]
    machine: float
    """Seconds of all processes on the machine."""
    clock: float
    """Seconds of all processors with their idle time."""

    def since(self, begin: "ProcessorTimes") -> "ProcessorTimes":
        """Subtract an earlier moment; a process that ended in between counts as zero."""
        by_name = {name: max(seconds - begin.by_name.get(name, 0), 0) for name, seconds in self.by_name.items()}
        return ProcessorTimes(by_name, self.machine - begin.machine, self.clock - begin.clock)

    @property
    def our_share(self) -> float:
        return sum(self.by_name.values()) / self.clock


def read_times(live: Live) -> ProcessorTimes:
    """Return the times so far of the suite, its emulators and this process."""
    by_name: dict[str, float] = defaultdict(float, {"the load itself": _seconds(psutil.Process())})
    for service in MODULES:
        for replica in range(1, live.replicas + 1):
            process = live.process(service, replica)
            by_name[service] += _seconds(process)
            by_name["its workers"] += sum(map(_seconds, process.children(recursive=True)))
    if emulators := live.backend.emulators:
        by_name["Firestore's emulator"] = _seconds(psutil.Process(emulators.firestore.pid))
        by_name["Pub/Sub's emulator"] = _seconds(psutil.Process(emulators.pubsub.pid))
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # User time includes guest time.
    clock = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    return ProcessorTimes(by_name, clock - idle, clock)


def _seconds(process: psutil.Process) -> float:
    """Return its own seconds and those of its ended children, 0 when the process has ended."""
    with suppress(psutil.NoSuchProcess):
        return float(sum(process.cpu_times()[:4]))
    return 0.0
