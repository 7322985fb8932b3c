"""The main job under load, against the real suite with one replica of each service and with more: `make load`."""

import argparse
import os
import sys
from collections.abc import Sequence

from tests.benchmarks.load.driven import Driven
from tests.benchmarks.load.runs import BACKENDS, EMULATORS, Run, Size, run
from tests.benchmarks.load.table import Row, processor_table, speed_table
from tests.emulators.emulator import EmulatorFailed
from tests.emulators.jars import EmulatorsMissing, find_jars

_FAILED, _MISSING = 1, 2


def say(text: str) -> None:
    """To stdout, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def rows(runs: Sequence[Run], size: Size) -> list[Row]:
    """Two rows for each backend and number of replicas, in the order in which they were first measured."""
    found: list[Row] = []
    for backend, replicas in dict.fromkeys((each.backend, each.replicas) for each in runs):
        rounds = [each for each in runs if (each.backend, each.replicas) == (backend, replicas)]
        found.append(Row(backend, replicas, tuple(each.closed for each in rounds), f"{size.pairs} at once"))
        found.append(Row(backend, replicas, tuple(each.opened for each in rounds), "at half"))
    return found


def tell(runs: Sequence[Run], size: Size) -> list[str]:
    """Print the tables; what went wrong, one line for each kind of it."""
    found = rows(runs, size)
    say(f"\n{speed_table(found)}\n\n{processor_table(found)}\n")
    driven = [each for one in runs for loop in (one.closed, one.opened) for each in loop.driven]
    again = sorted({text for each in driven for text in each.asked_again})
    for text in again:
        say(f"asked again: {text}: {sum(each.asked_again.count(text) for each in driven)} times")
    return _errors(driven)


def _errors(driven: Sequence[Driven]) -> list[str]:
    return [f"contract {each.contract_id or each.number}: {each.error}" for each in driven if each.error is not None]


def _several(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for. Ends the process where it makes no sense."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.load", description=__doc__)
    parser.add_argument("--backends", type=_several, default=[BACKENDS[0]], help=f"some of {','.join(BACKENDS)}")
    parser.add_argument("--replicas", type=_several, default=["1", "2", "3"], help="of each service, as in 1,2,3")
    parser.add_argument("--contracts", type=int, default=600, help="of each closed loop; the open one has half of them")
    parser.add_argument("--pairs", type=int, default=24, help="of a consumer and an agent, all at work at once")
    parser.add_argument("--processes", type=int, default=2, help="that the parties are spread over")
    parser.add_argument("--rounds", type=int, default=1, help="in turns; the tables have the medians")
    asked = parser.parse_args(given)
    if not asked.backends or set(asked.backends) - set(BACKENDS):
        parser.error(f"--backends: some of {','.join(BACKENDS)}")
    if not asked.replicas or not all(each.isdecimal() and 1 <= int(each) <= 9 for each in asked.replicas):
        parser.error("--replicas: numbers from 1 to 9, as in 1,2,3")
    if not 1 <= asked.processes <= asked.pairs or asked.contracts < 5 * asked.pairs or asked.rounds < 1:
        parser.error("too few: at least a pair for each process, five contracts for each pair, and one round")
    return asked


def measured(asked: argparse.Namespace, size: Size) -> list[Run]:
    """All runs; each round has every backend with every number of replicas once."""
    runs: list[Run] = []
    for number in range(1, asked.rounds + 1):
        for backend in asked.backends:
            for replicas in map(int, asked.replicas):
                runs.append(run(backend, replicas, size))
                found = f"{runs[-1].closed.figures.per_s:.1f} contracts/s, its books are in order"
                say(f"round {number} of {asked.rounds}: {backend}, {replicas}: {found}")
    return runs


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, and fail where anything was lost."""
    asked = arguments(given)
    size = Size(asked.contracts, asked.pairs, asked.processes)
    say(
        f"{os.cpu_count()} cores for everything; each time {size.contracts} contracts, then {size.contracts // 2} at "
        f"half that rate, from {size.processes} processes; the first fifth is left out"
    )
    try:
        if EMULATORS in asked.backends:
            find_jars(os.environ)  # told at once, not after minutes
        runs = measured(asked, size)
    except EmulatorsMissing as missing:
        sys.stderr.write(f"{missing}\n")
        return _MISSING
    except EmulatorFailed as failed:
        sys.stderr.write(f"{failed}\n")
        return _FAILED
    errors = tell(runs, size)
    for error in errors:
        say(error)
    say("whatever was accepted is settled, once" if not errors else f"{len(errors)} contracts went wrong")
    return _FAILED if errors else 0


if __name__ == "__main__":
    sys.exit(main())
