"""Single runs with a time limit, and their results as plain data."""

import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

import structlog

from tests.simulation.engine.interleaving import run_in_virtual_time
from tests.simulation.planted.plant import NOTHING, Plant
from tests.simulation.promises.promise import BrokenPromise
from tests.simulation.runs.plan import Plan
from tests.simulation.world import WEIGHTS, World

STEPS = 150
TIME_LIMIT_S = 60.0
"""Processor time of a run, which normally takes less than a second."""


class TooLong(BaseException):
    """The signal that a run exceeds its time limit. Handlers under test do not catch it."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The description of a broken promise in the result of a run."""

    promise: str
    """Name of the broken promise, equal in all runs that break it."""
    detail: str
    where: str
    """The last lines of the traceback."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """Result of one run."""

    plan: Plan
    broken: Broken | None
    cpu_s: float
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By group and name: faults, actions, ends, events, postings."""
    trace: tuple[str, ...] = ()


def draw_plan(seed: int, steps: int = STEPS) -> Plan:
    """Return the plan of a seed."""
    return Plan.draw(seed, steps, WEIGHTS)


def run_plan(plan: Plan, plant: Plant = NOTHING, *, limit_s: float = TIME_LIMIT_S) -> RunResult:
    """Run a plan to its end, with a planted bug if any, and return what happened.

    `limit_s`: seconds after which the run counts as broken.
    """
    began = time.process_time()
    world = World(plan.seed, plant=plant)
    broken = None
    with suppress_log(), _at_most(limit_s):
        try:
            run_in_virtual_time(world.follow(plan))
        except (Exception, TooLong) as error:  # noqa: BLE001 whatever ends a run is what the run found
            broken = describe_broken_promise(error)
    return RunResult(plan, broken, time.process_time() - began, _counts(world), tuple(world.trace))


def describe_broken_promise(error: BaseException) -> Broken:
    """Return the description of the broken promise in an error."""
    frames = traceback.extract_tb(error.__traceback__)
    location = f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].name}" if frames else "nowhere"
    promise = error.name if isinstance(error, BrokenPromise) else f"{type(error).__name__} in {location}"
    where = "".join(traceback.format_list(frames[-4:]))
    return Broken(promise, str(error)[:2_000], where)


def _counts(world: World) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    counts.update(("action", each) for each in world.acted)
    counts.update(("end", status.value) for status in world.seen.finals.values())
    counts.update({("tally", name): number for name, number in world.tally.items()})
    return counts


@contextmanager
def suppress_log() -> Iterator[None]:
    """Silence the log: thousands of faults per run are in the trace, and would hide other output."""
    before = structlog.get_config()
    structlog.configure(processors=[_silent])
    try:
        yield
    finally:
        structlog.configure(**before)


def _silent(*_: object) -> str:
    raise structlog.DropEvent


@contextmanager
def _at_most(limit_s: float) -> Iterator[None]:
    """Raise `TooLong` in the block after `limit_s` seconds. It works only in the main thread."""

    def end(_: int, __: FrameType | None) -> None:
        raise TooLong(f"the run took more than {limit_s:g} s of CPU")

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, limit_s, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
