import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.sandbox.port import CodeFault, Context, FaultKind, Limits, Returned

RUN = "aex_outcomes.sandbox.jobs:run_code"
SELF_TEST = "aex_outcomes.sandbox.jobs:self_test"
DRY_RUN = "aex_outcomes.sandbox.dry_run:dry_run"
JOBS = "tests.libs.outcomes.sandbox.jobs"
OWN_JOBS = [f"{JOBS}:{name}" for name in ("with_program", "killed", "idle_one_killed", "interpreters", "processes")]
EMPTY = Context({}, {}, {})


class Pooled:
    """The sandbox in a pool's worker, where it stays warm."""

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        payload = {"code": code, "context": context.as_json(), "limits": dataclasses.asdict(limits)}
        answer = await self.pool.run(RUN, payload)
        fault = answer.get("fault")
        if fault is not None:
            raise CodeFault(FaultKind(fault["kind"]), fault["message"], fault["line"])
        return Returned(answer["value"], answer["metrics"])

    async def run(self, code: str, context: Context = EMPTY, **limits: Any) -> Returned:
        return await self.execute(code, context, Limits(**limits))

    async def fault(self, code: str, context: Context = EMPTY, **limits: Any) -> CodeFault:
        try:
            returned = await self.run(code, context, **limits)
        except CodeFault as fault:
            return fault
        raise AssertionError(f"no fault: {returned}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[WorkerPool]:
    jobs = [RUN, SELF_TEST, DRY_RUN, *OWN_JOBS]
    async with WorkerPool(1, 30, 1_024, jobs=jobs, spares=0, children=True) as ready:
        yield ready


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox(pool: WorkerPool) -> Pooled:
    return Pooled(pool)
