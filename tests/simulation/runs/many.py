"""Many runs in several processes. Each run starts in a new process, so that none affects another."""

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.simulation.planted import PLANTS
from tests.simulation.planted.plant import NOTHING
from tests.simulation.runs.running import RunResult, draw_plan, run_plan

_AT_ONCE = 5
"""Seeds that one process runs before it tells."""


def run_seeds_in_processes(seeds: range, steps: int, jobs: int, plant: str = NOTHING.name) -> Iterator[RunResult]:
    """Run seeds in `jobs` processes and yield the results as they end; closing stops the other runs."""
    parts = [seeds[start : start + _AT_ONCE] for start in range(0, len(seeds), _AT_ONCE)]
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = [pool.submit(run_seeds, part, steps, plant) for part in parts]
        try:
            for done in as_completed(running):
                yield from done.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def run_seeds(seeds: Sequence[int], steps: int, plant: str = NOTHING.name) -> list[RunResult]:
    """Run seeds one after the other in this process, and return the results."""
    return [run_plan(draw_plan(seed, steps), PLANTS.get(plant, NOTHING)) for seed in seeds]
