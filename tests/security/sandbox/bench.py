"""The place where hostile code runs: one pool as the service has it, and everything that stands by."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aex_models.examination import Fault
from aex_models.results import CriterionResult
from aex_outcomes.confinement.pool import WorkerPool
from tests.security.sandbox.case import FILE, PORT, Abuse
from tests.security.sandbox.watch import Listening, MemoryWatch, Pulse

JOB = "aex_outcomes.engine.job:verify_candidate"
MEMORY_LIMIT_MB = 256
HONEST = "def evaluate(input, output, metadata):\n    return input['question'] * 7 + len(output['text']) - 9\n"


@dataclass(frozen=True, slots=True)
class Bench:
    """The pool and its witnesses."""

    pool: WorkerPool
    file: Path
    listening: Listening
    memory: MemoryWatch
    pulse: Pulse

    async def run(self, abuse: Abuse) -> CriterionResult:
        code = abuse.code.replace(FILE, str(self.file)).replace(PORT, str(self.listening.port))
        return await self.judged(code, abuse.timeout_ms)

    async def judged(self, code: str, timeout_ms: int = 5_000) -> CriterionResult:
        answer = await self.pool.run(JOB, payload(code, timeout_ms))
        result = CriterionResult.model_validate(answer["result"]["criterion_results"][0])
        assert (answer["result"]["verdict"] == "indeterminate") == (
            result.error is not None and result.error.fault is Fault.PLATFORM
        )
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


@contextlib.asynccontextmanager
async def bench(file: Path) -> AsyncIterator[Bench]:
    """A pool of one worker, and the witnesses. `file` holds the canary."""
    listening, memory, pulse = Listening(), MemoryWatch(os.getpid()), Pulse()
    pool = WorkerPool(1, 30, 1_024, jobs=[JOB], warm=["re2"], spares=0, children=True, max_result_bytes=1 << 24)
    beating = asyncio.create_task(pulse.beat())
    try:
        async with pool:
            with memory.watching():
                yield Bench(pool, file, listening, memory, pulse)
    finally:
        beating.cancel()
        listening.close()
