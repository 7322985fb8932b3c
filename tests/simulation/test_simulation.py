"""Seeded runs of the whole suite under faults."""

import os
import subprocess
import sys

import pytest

from aex_models.contract import ContractStatus
from aex_verification.handlers.read import find_outcome
from aex_work_publisher.repository import find_committed_work
from tests.simulation.actions.random_works import Shares
from tests.simulation.engine.dice import use_dice
from tests.simulation.engine.interleaving import run_in_virtual_time
from tests.simulation.faults.fate import FaultRates
from tests.simulation.promises.histories import attempts_of
from tests.simulation.runs.running import STEPS, RunResult, draw_plan, run_plan
from tests.simulation.world import World


def kept(seed: int) -> RunResult:
    """Run a seed; report a failure with its command."""
    result = run_plan(draw_plan(seed))
    broken = result.broken
    assert broken is None, f"{broken.promise}: {broken.detail}; make simulate SEEDS=1 FIRST={seed}\n{broken.where}"
    return result


def test_the_suite_keeps_its_promises_and_reaches_every_end() -> None:
    ends = {name for seed in range(24) for group, name in kept(seed).counts if group == "end"}
    assert {"passed", "exhausted", "expired", "failed", "finalised", "cancelled"} <= ends


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1_000, 1_200, 20))
def test_the_suite_keeps_its_promises_under_many_faults(start: int) -> None:
    for seed in range(start, start + 20):
        kept(seed)


@pytest.mark.slow
def test_seed_gives_the_same_run_in_a_process_that_hashes_otherwise() -> None:
    run_and_print = (
        "from tests.simulation.runs.running import draw_plan, run_plan\n"
        "result = run_plan(draw_plan(7))\n"
        "print(result.trace, sorted(result.counts.items()))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", run_and_print]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    result = kept(7)
    assert printed == f"{result.trace} {sorted(result.counts.items())}\n"
    assert "post_candidate" in printed


def test_runs_have_conflicts_and_killed_processes() -> None:
    tally = run_plan(draw_plan(2, 3 * STEPS)).counts
    assert tally["tally", "transactions that lost"] > 0
    assert tally["tally", "processes killed"] > 0
    assert tally["tally", "requests killed with their process"] > 0


def test_custom_code_meets_every_fate() -> None:
    missing = {"refused", "open", "completed", "custom_metric_failed"}
    for seed in range(10):
        world = World(seed, FaultRates(code_fails=0.5), Shares(custom=0.9))
        run_in_virtual_time(world.run(2 * STEPS))
        works = [
            run_in_virtual_time(find_committed_work(world.suite.publisher.memory, each.work_id))
            for each in world.open_works
        ]
        missing -= {each.record.status.value for each in works if each is not None}
        missing -= {str(event.data.get("cause")) for event in world.suite.environment.commit_log.emitted.values()}
        if not missing:
            return
    raise AssertionError(f"no run has {missing}")


def test_named_verifiers_meet_every_fate() -> None:
    missing = {
        "too_dull",
        "fatal",
        "criteria_not_met",
        "system_retries_exhausted",
        "invalid",
        "judged",
        dict,
        type(None),
    }
    for seed in range(8):
        world = World(seed, shares=Shares(custom=0.1, verifier=0.9))
        run_in_virtual_time(world.run(2 * STEPS))
        missing -= {
            str(event.data.get(name))
            for event in world.suite.environment.commit_log.emitted.values()
            for name in ("code", "cause")
        }
        missing -= run_in_virtual_time(statuses_of(world))
        missing -= run_in_virtual_time(final_results_of(world))
        if not missing:
            return
    raise AssertionError(f"no run has {missing}")


async def statuses_of(world: World) -> set[str]:
    store = world.suite.verification.memory
    return {
        each.status.value
        for contract in world.expected_contracts
        for each in await attempts_of(store, contract.contract_id)
    }


async def final_results_of(world: World) -> set[type]:
    with use_dice(world.seed):
        found = [
            await find_outcome(world.suite.verification_deps, contract.contract_id)
            for contract in world.expected_contracts
        ]
    return {type(each.final_result) for each in found if each and each.final_status is ContractStatus.PASSED}
