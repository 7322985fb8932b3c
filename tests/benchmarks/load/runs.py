"""One run: a fresh suite, a closed loop for the most it can do, an open one at half of that, and its books after it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from aex_cli.suite.service_spec import MODULES
from aex_models.audiences import Audience
from tests.benchmarks.load.driven import Driven
from tests.benchmarks.load.figures import Figures
from tests.benchmarks.load.plan import Pair, Plan
from tests.benchmarks.load.processor import Spent, spent_so_far
from tests.e2e.accounts import check_ledger
from tests.e2e.backend import EMBEDDED, Backend, on_emulators
from tests.e2e.live import Live, clean_environment, live_suite
from tests.e2e.parties import caller, fresh
from tests.e2e.stores import transactions_by_contract
from tests.emulators.emulators import started
from tests.emulators.jars import find_jars
from tests.libs.cli.suites import ROOT

EMULATORS = "emulators"
BACKENDS = (EMBEDDED.name, EMULATORS)
WARM_UP_OF_ONE = 4
"""Contracts for each replica, from each process, before anything is measured."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is asked of a suite."""

    contracts: int
    """Of the closed loop; the open one has half as many, and so takes about as long."""
    pairs: int
    """Of a consumer and an agent: in the closed loop so many contracts are under way at once."""
    processes: int
    """That the parties are spread over."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """One loop: what was offered, and what came of it."""

    per_s: float | None
    """Contracts offered a second; None in a closed loop."""
    figures: Figures
    spent: Spent
    driven: tuple[Driven, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Both loops on one suite."""

    backend: str
    replicas: int
    closed: Loaded
    opened: Loaded


def run(backend: str, replicas: int, size: Size) -> Run:
    """Raises `AssertionError` where a contract was lost or settled twice, or the suite says that something broke."""
    with (
        a_backend(backend) as chosen,
        tempfile.TemporaryDirectory(prefix="aex-load-") as folder,
        live_suite(Path(folder) / ".aex", chosen, replicas=replicas) as live,
    ):
        pairs = [a_pair(live) for _ in range(size.pairs)]
        # Every replica has met every kind of request before the processor's time is counted.
        before, fewer = WARM_UP_OF_ONE * replicas * size.processes, size.contracts // 2
        warm = put_under_load(live, plans(live, pairs, before, size.processes))
        closed = put_under_load(live, plans(live, pairs, size.contracts, size.processes, before))
        half, after = closed.figures.per_s / 2, before + size.contracts
        opened = put_under_load(live, plans(live, pairs, fewer, size.processes, after, half), half)
        check(live, [*warm.driven, *closed.driven, *opened.driven])
    return Run(backend, replicas, closed, opened)


@contextmanager
def a_backend(name: str) -> Iterator[Backend]:
    """The embedded one, or a pair of emulators with nothing in them. Raises `EmulatorsMissing`, `EmulatorFailed`."""
    with ExitStack() as stack:
        if name == EMBEDDED.name:
            yield EMBEDDED
        else:
            logs = stack.enter_context(tempfile.TemporaryDirectory(prefix="aex-emulators-"))
            yield on_emulators(stack.enter_context(started(find_jars(os.environ), Path(logs))))


def a_pair(live: Live) -> Pair:
    """New principals, strangers to each other."""
    consumer, agent = caller(live, Audience.CONSUMER, fresh("acme")), caller(live, Audience.AGENT, fresh("bot"))
    return Pair(consumer=consumer.token, agent=agent.token, agent_id=agent.id)


def plans(
    live: Live, pairs: Sequence[Pair], contracts: int, processes: int, first: int = 0, per_s: float | None = None
) -> list[Plan]:
    """A load in as many shares as there are processes."""
    urls = {each: tuple(live.url(each, "", place + 1) for place in range(live.replicas)) for each in MODULES}
    shares = [len(range(place, contracts, processes)) for place in range(processes)]
    return [
        Plan(
            urls=urls,
            pairs=tuple(pairs[place::processes]),
            first=first + sum(shares[:place]),
            contracts=share,
            per_s=per_s and per_s * share / contracts,
        )
        for place, share in enumerate(shares)
    ]


def put_under_load(live: Live, shares: Sequence[Plan], per_s: float | None = None) -> Loaded:
    """All shares at once, each in a process of its own, until every contract has come to its end."""
    with ExitStack() as stack:
        generators = [stack.enter_context(a_generator(share)) for share in shares]
        pids = [each.pid for each in generators]
        begin = spent_so_far(live, pids)
        for each in generators:
            tell(each, "go")
        lines = [line for each in generators for line in heard(each)]
        end = spent_so_far(live, pids)
    driven = tuple(Driven.of(line) for line in lines)
    assert len(driven) == sum(share.contracts for share in shares), "a process of the load ended early"
    return Loaded(per_s, Figures.of(driven), Spent.between(begin, end), driven)


@contextmanager
def a_generator(plan: Plan) -> Iterator[subprocess.Popen[str]]:
    """A process that has read its plan, and waits to be told to go. It lives until the end of the block."""
    command = [sys.executable, "-m", "tests.benchmarks.load.generator"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=clean_environment(), stdin=pipe, stdout=pipe, text=True) as process:
        try:
            tell(process, plan.model_dump_json())
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", "a process of the load did not start"
            yield process
        finally:
            process.kill()


def tell(process: subprocess.Popen[str], line: str) -> None:
    """One line to its stdin."""
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def heard(process: subprocess.Popen[str]) -> Iterator[str]:
    """The lines of its stdout, up to an empty one."""
    assert process.stdout is not None
    return iter(lambda: process.stdout.readline().strip(), "")  # type: ignore[union-attr]


def check(live: Live, driven: Sequence[Driven]) -> None:
    """Whatever was accepted and came to its end is booked once, and nothing else is in the books."""
    booked = transactions_by_contract(live)
    settled = {each.contract_id for each in driven if each.settled is not None}
    accepted = {each.contract_id for each in driven if each.contract_id is not None}
    assert {contract_id for contract_id in settled if len(booked.get(str(contract_id), ())) != 1} == set()
    assert {contract_id for contract_id, entries in booked.items() if len(entries) > 1} == set()
    # An award whose answer was lost has a contract that the load does not know of, but nobody delivers for it.
    assert set(booked) <= accepted
    check_ledger(live)
    assert live.breakdowns() == []
