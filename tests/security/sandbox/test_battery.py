"""Hostile code of every kind gets nothing, ends as it must, and leaves the sandbox as it was."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from aex_models.examination import Fault
from aex_models.results import CUSTOM_METRIC_FAILED, CriterionResult
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.sandbox.port import FaultKind
from tests.security.sandbox import answering, exhausting, reaching
from tests.security.sandbox.case import CANARY, FILE, PORT, Abuse
from tests.security.sandbox.watch import Listening, MemoryWatch, Pulse

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

TABLES = {**reaching.CASES, **exhausting.CASES, **answering.CASES}
CASES = [pytest.param(abuse, id=f"{kind}: {abuse.name}") for kind, abuses in TABLES.items() for abuse in abuses]
JOB = "aex_outcomes.engine.job:verify_candidate"
MEMORY_LIMIT_MB = 256
MOST_BYTES = 2 * MEMORY_LIMIT_MB << 20
HONEST = "def evaluate(input, output, metadata):\n    return input['question'] * 7 + len(output['text']) - 9\n"


@dataclass(frozen=True, slots=True)
class Bench:
    """The pool and its witnesses."""

    pool: WorkerPool
    file: Path
    listening: Listening
    memory: MemoryWatch
    pulse: Pulse

    async def run(self, code: str, timeout_ms: int = 5_000) -> CriterionResult:
        placed = code.replace(FILE, str(self.file)).replace(PORT, str(self.listening.port))
        answer = await self.pool.run(JOB, payload(placed, timeout_ms))
        result = CriterionResult.model_validate(answer["result"]["criterion_results"][0])
        is_platform_fault = result.error is not None and result.error.fault is Fault.PLATFORM
        assert (answer["result"]["verdict"] == "indeterminate") is is_platform_fault
        return result


def payload(code: str, timeout_ms: int) -> dict[str, Any]:
    limits = {"timeout_ms": timeout_ms, "memory_limit_mb": MEMORY_LIMIT_MB}
    criterion = {"metric": "custom.m", "metric_type": "custom", "comparison": "gte", "threshold": 0, "penalty": "1"}
    return {
        "contract_id": "ctr_1",
        "success_criteria": {"criteria": [criterion]},
        "work_input": {"question": 6},
        "evaluation": {"custom_metrics": [{"name": "m", "code": code}]},
        "output": {"text": "forty-two"},
        "execution_metadata": {},
        "platform_latency_ms": 1,
        "config": {"extractors": {"custom": {"sandbox": limits}}},
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def location(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    """A pool of one worker, and the witnesses."""
    file = tmp_path_factory.mktemp("canary") / "canary"
    file.write_text(str(CANARY), encoding="ascii")
    listening, memory, pulse = Listening(), MemoryWatch(os.getpid()), Pulse()
    pool = WorkerPool(1, 30, 1_024, jobs=[JOB], warm=["re2"], spares=0, children=True, max_result_bytes=1 << 24)
    beating = asyncio.create_task(pulse.beat())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AEX_CANARY", str(CANARY))
        async with pool:
            with memory.watching():
                yield Bench(pool, file, listening, memory, pulse)
    beating.cancel()
    listening.close()


@pytest.mark.parametrize("abuse", CASES)
async def test_hostile_code_gets_nothing(location: Bench, abuse: Abuse) -> None:
    location.memory.peak_bytes = location.pulse.beats = 0
    result = await location.run(abuse.code, abuse.timeout_ms)
    if abuse.end is FaultKind.TIMEOUT:
        assert location.pulse.beats > 2, "the event loop stood still while the code ran"
    if isinstance(abuse.end, FaultKind | frozenset):
        kinds = {abuse.end} if isinstance(abuse.end, FaultKind) else abuse.end
        assert result.error is not None, result.value
        assert result.error.code == CUSTOM_METRIC_FAILED
        assert result.error.message.split(": ")[1] in kinds, result.error.message
        assert str(CANARY) not in result.error.message
    else:
        assert result.error is None, result.error
        assert result.value == abuse.end
    assert (await location.run(HONEST)).value == 42
    assert 0 <= location.memory.peak_bytes < MOST_BYTES
    assert location.file.read_text(encoding="ascii") == str(CANARY)
    assert [each.name for each in location.file.parent.iterdir()] == [location.file.name]


async def test_nothing_was_reached_and_one_worker_is_left(location: Bench) -> None:
    """Last of all: over everything that ran before."""
    assert not location.listening.was_reached()
    assert location.memory.most_processes <= 3, "a worker, its interpreter, and one that is being replaced"
    assert location.pool.alive_workers == 1
