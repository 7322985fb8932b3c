"""A load on a suite of its own, and the checks after it."""

import asyncio
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvloop

from aex_cli.suite.service_spec import MODULES
from tests.benchmarks.load.figures import LoopResult
from tests.benchmarks.load.parties import ContractRun, drive_contracts
from tests.benchmarks.load.processor import read_times
from tests.e2e.accounts import check_ledger
from tests.e2e.backend import EMBEDDED, Backend, on_emulators
from tests.e2e.live import Live, live_suite
from tests.e2e.parties import Parties, parties_of
from tests.e2e.stores import transactions_by_contract
from tests.emulators.emulators import start_emulators
from tests.emulators.jars import find_jars

EMULATORS = "emulators"
BACKENDS = (EMBEDDED.name, EMULATORS)
WARM_UP_CONTRACTS = 8
"""For each replica, before the measurement."""


def run_load(backend_name: str, replicas: int, contracts: int, pairs: int) -> tuple[LoopResult, LoopResult]:
    """Run a closed loop, and an open loop of half of its rate and contracts.

    Raises `AssertionError` when a contract is lost or settled twice, or the suite logged a failure. Raises
    `EmulatorsMissing` and `EmulatorFailed`.
    """
    with (
        _open_backend(backend_name) as backend,
        tempfile.TemporaryDirectory(prefix="aex-load-") as folder,
        live_suite(Path(folder) / ".aex", backend, replicas=replicas) as live,
    ):
        parties = [parties_of(live) for _ in range(pairs)]
        first, last = WARM_UP_CONTRACTS * replicas, WARM_UP_CONTRACTS * replicas + contracts
        warm = _run_loop(live, parties, range(first))
        closed = _run_loop(live, parties, range(first, last))
        opened = _run_loop(live, parties, range(last, last + contracts // 2), closed.per_s / 2)
        _check_settlements(live, [*warm.runs, *closed.runs, *opened.runs])
    return closed, opened


@contextmanager
def _open_backend(name: str) -> Iterator[Backend]:
    if name == EMBEDDED.name:
        yield EMBEDDED
        return
    with (
        tempfile.TemporaryDirectory(prefix="aex-emulators-") as logs,
        start_emulators(find_jars(os.environ), Path(logs)) as pair,
    ):
        yield on_emulators(pair)


def _run_loop(live: Live, parties: Sequence[Parties], numbers: range, per_s: float | None = None) -> LoopResult:
    urls = {each: [live.url(each, "", number + 1) for number in range(live.replicas)] for each in MODULES}
    begin = read_times(live)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runs = runner.run(drive_contracts(urls, parties, numbers, per_s))
    return LoopResult(tuple(runs), read_times(live).since(begin))


def _check_settlements(live: Live, runs: Sequence[ContractRun]) -> None:
    """Check that each settled contract has one transaction, and that the ledger has no others."""
    transactions = transactions_by_contract(live)
    settled = {run.contract_id for run in runs if run.settled is not None}
    accepted = {run.contract_id for run in runs if run.contract_id is not None}
    assert {each for each in settled if len(transactions.get(str(each), ())) != 1} == set()
    assert {each for each, some in transactions.items() if len(some) > 1} == set()
    # An award whose response was lost has an unknown contract, which gets no candidate and no transaction.
    assert set(transactions) <= accepted
    check_ledger(live)
    assert live.breakdowns() == []
