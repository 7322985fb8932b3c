"""Seeded runs of the whole suite under faults."""

import os
import subprocess
import sys
from collections.abc import Collection

import pytest

from aex_models.contract import ContractStatus
from aex_models.events import Event
from aex_verification.handlers.read import find_outcome
from aex_work_publisher.repository import find_work
from tests.simulation.actions.random_works import Shares
from tests.simulation.engine.dice import acting
from tests.simulation.engine.interleaving import simulated
from tests.simulation.faults.fate import FaultRates
from tests.simulation.promises.histories import attempts_of
from tests.simulation.runs.running import STEPS, planned, result_of
from tests.simulation.world import World


def kept(seed: int) -> None:
    """Run a seed; report a failure with its command and the smallest plan."""
    broken = result_of(planned(seed)).broken
    assert broken is None, f"{broken.promise}: {broken.detail}; make simulate SEEDS=1 FIRST={seed}\n{broken.where}"


@pytest.mark.parametrize("seed", range(15))
def test_the_suite_keeps_its_promises_under_faults(seed: int) -> None:
    kept(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1_000, 1_200, 20))
def test_the_suite_keeps_its_promises_under_many_faults(start: int) -> None:
    for seed in range(start, start + 20):
        kept(seed)


def test_the_same_seed_gives_the_same_run() -> None:
    one, other = result_of(planned(7)), result_of(planned(7))
    assert one.trace == other.trace
    assert one.counts == other.counts


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run_in_a_process_that_hashes_otherwise() -> None:
    run_and_print = (
        "from tests.simulation.runs.running import planned, result_of\n"
        "result = result_of(planned(7))\n"
        "print(result.trace, sorted(result.counts.items()))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", run_and_print],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1
    assert "post_candidate" in runs.pop()


def test_what_is_left_out_of_a_plan_does_not_change_what_the_others_throw() -> None:
    plan = planned(3)
    first = plan.steps[0]
    rest = plan.only(plan.steps[1:])
    assert [each.seed for each in rest.steps] == [each.seed for each in plan.steps if each is not first]
    assert result_of(rest).broken is None


def test_transactions_lose_against_each_other_and_processes_are_killed_with_all_that_they_do() -> None:
    tally = result_of(planned(2, 3 * STEPS)).counts
    assert tally["tally", "transactions that lost"] > 0
    assert tally["tally", "processes killed"] > 0
    assert tally["tally", "requests killed with their process"] > 0


def test_runs_reach_every_kind_of_end() -> None:
    ends = {name for seed in range(16) for group, name in result_of(planned(seed)).counts if group == "end"}
    assert {"passed", "exhausted", "expired", "failed", "finalised", "cancelled"} <= ends


def test_custom_code_meets_every_fate() -> None:
    fates, causes = set(), set()
    for seed in range(10):
        world = World(seed, FaultRates(code_fails=0.5), Shares(custom=0.9))
        simulated(world.run(2 * STEPS))
        records = [
            simulated(find_work(world.suite.publisher.memory, open_work.work_id)) for open_work in world.open_works
        ]
        fates |= {each.record.status.value for each in records if each is not None}
        causes |= {str(event.data["cause"]) for event in emitted(world) if "cause" in event.data}
    assert {"refused", "open", "completed"} <= fates
    assert "custom_metric_failed" in causes


def test_named_verifiers_meet_every_fate() -> None:
    codes, causes, statuses, final_results = set(), set(), set(), set()
    for seed in range(8):
        world = World(seed, shares=Shares(custom=0.1, verifier=0.9))
        simulated(world.run(2 * STEPS))
        codes |= {str(event.data["code"]) for event in emitted(world) if event.type == "output.rejected"}
        causes |= {str(event.data["cause"]) for event in emitted(world) if event.type == "outcome.held"}
        statuses |= simulated(statuses_of(world))
        final_results |= simulated(final_results_of(world))
    assert {"too_dull", "fatal", "criteria_not_met"} <= codes
    assert "system_retries_exhausted" in causes
    assert {"invalid", "judged"} <= statuses
    assert final_results == {dict, type(None)}


def emitted(world: World) -> Collection[Event]:
    return world.suite.environment.commit_log.emitted.values()


async def statuses_of(world: World) -> set[str]:
    store = world.suite.verification.memory
    return {
        each.status.value
        for contract in world.expected_contracts
        for each in await attempts_of(store, contract.contract_id)
    }


async def final_results_of(world: World) -> set[type]:
    with acting(world.seed):
        found = [
            await find_outcome(world.suite.verification_deps, contract.contract_id)
            for contract in world.expected_contracts
        ]
    return {type(each.final_result) for each in found if each and each.final_status is ContractStatus.PASSED}
