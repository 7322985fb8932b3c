"""The main job under load on the real suite, with one or more replicas: `make load`."""

import argparse
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence

from tests.benchmarks.harness import print_line
from tests.benchmarks.load.figures import LoadRow, LoopResult, processor_table, speed_table
from tests.benchmarks.load.running import BACKENDS, EMULATORS, run_load
from tests.emulators.emulator import EmulatorFailed
from tests.emulators.jars import EmulatorsMissing, find_jars

_FAILED, _MISSING = 1, 2


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options; exit with 2 when they make no sense."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.load", description=__doc__)
    parser.add_argument("--backends", default=BACKENDS[0], help=f"some of {','.join(BACKENDS)}")
    parser.add_argument("--replicas", default="1,2,3", help="of each service, as in 1,2,3")
    parser.add_argument("--contracts", type=int, default=600, help="of each closed loop; the open one has half of them")
    parser.add_argument("--pairs", type=int, default=24, help="of a consumer and an agent, working concurrently")
    parser.add_argument("--rounds", type=int, default=1, help="in alternation; the tables have their medians")
    options = parser.parse_args(arguments)
    options.backends, options.replicas = options.backends.split(","), options.replicas.split(",")
    if set(options.backends) - set(BACKENDS):
        parser.error(f"--backends: some of {','.join(BACKENDS)}")
    if not all(each.isdecimal() and 1 <= int(each) <= 9 for each in options.replicas):
        parser.error("--replicas: numbers from 1 to 9, as in 1,2,3")
    if options.pairs < 1 or options.contracts < 5 * options.pairs or options.rounds < 1:
        parser.error("too few: at least one pair, five contracts for each pair, and one round")
    return options


def measure_load(options: argparse.Namespace) -> list[LoadRow]:
    """Run every backend with every number of replicas, once per round."""
    results: dict[tuple[str, int, str], list[LoopResult]] = defaultdict(list)
    for number in range(1, options.rounds + 1):
        for backend in options.backends:
            for replicas in map(int, options.replicas):
                closed, opened = run_load(backend, replicas, options.contracts, options.pairs)
                results[backend, replicas, f"{options.pairs} at once"].append(closed)
                results[backend, replicas, "at half"].append(opened)
                rate = f"{closed.per_s:.1f} contracts/s, its ledger is correct"
                print_line(f"round {number} of {options.rounds}: {backend}, {replicas}: {rate}")
    return [LoadRow(*key, tuple(rounds)) for key, rounds in results.items()]


def print_result(rows: Sequence[LoadRow]) -> int:
    """Print the tables, the retries and the errors; return the number of errors."""
    print_line(f"\n{speed_table(rows)}\n\n{processor_table(rows)}\n")
    runs = [run for row in rows for each in row.rounds for run in each.runs]
    for text, number in sorted(Counter(text for run in runs for text in run.retries).items()):
        print_line(f"retried: {text}: {number} times")
    errors = [f"contract {run.contract_id or run.number}: {run.error}" for run in runs if run.error is not None]
    for error in errors:
        print_line(error)
    print_line(f"{len(errors)} contracts failed" if errors else "all accepted contracts are settled once")
    return len(errors)


def main() -> int:
    """Measure, print, and return 1 when a contract failed, 2 without emulators."""
    options = parse_options()
    print_line(
        f"{os.cpu_count()} cores in total; {options.contracts} contracts, then {options.contracts // 2} at half of "
        "that rate; the first fifth is left out"
    )
    try:
        if EMULATORS in options.backends:
            find_jars(os.environ)  # fails before the first minutes of load
        return _FAILED if print_result(measure_load(options)) else 0
    except (EmulatorsMissing, EmulatorFailed) as error:
        sys.stderr.write(f"{error}\n")
        return _MISSING if isinstance(error, EmulatorsMissing) else _FAILED


if __name__ == "__main__":
    sys.exit(main())
