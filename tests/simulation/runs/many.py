"""Many runs in several processes, each begun fresh: nothing of one run reaches another."""

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.simulation.planted import PLANTS
from tests.simulation.planted.plant import NOTHING
from tests.simulation.runs.running import RunResult, planned, result_of

_AT_ONCE = 5
"""Seeds that one process runs before it tells."""


def results_in_turn(seeds: range, steps: int, jobs: int, plant: str = NOTHING.name) -> Iterator[RunResult]:
    """Yield the results as the runs end; closing the generator stops the rest."""
    parts = [seeds[start : start + _AT_ONCE] for start in range(0, len(seeds), _AT_ONCE)]
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = [pool.submit(results_of, part, steps, plant) for part in parts]
        try:
            for done in as_completed(running):
                yield from done.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def results_of(seeds: Sequence[int], steps: int, plant: str = NOTHING.name) -> list[RunResult]:
    """Return the results of these runs, one after the other, in this process."""
    return [result_of(planned(seed, steps), PLANTS.get(plant, NOTHING)) for seed in seeds]
