"""One process of the load: reads its plan, says `ready`, begins at `go`, and writes what became of each contract."""

import asyncio
import random
import sys
import time
from collections.abc import Iterator

import httpx
import uvloop

from tests.benchmarks.load.driven import Driven
from tests.benchmarks.load.driver import ANSWER_S, Driver
from tests.benchmarks.load.plan import Pair, Plan


async def closed(plan: Plan, driver: Driver) -> list[Driven]:
    """Each pair one contract after another, until all are begun."""
    numbers, found = iter(_numbers(plan)), []

    async def keep_on(pair: Pair) -> None:
        for number in numbers:
            found.append(await driver.drive(number, pair, time.time()))  # noqa: PERF401 others append to it, too

    await asyncio.gather(*(keep_on(pair) for pair in plan.pairs))
    return found


async def opened(plan: Plan, driver: Driver, per_s: float) -> list[Driven]:
    """Contracts at moments that the rate and the plan's first number decide: gaps are exponential."""
    dice, due, under_way = random.Random(plan.first), time.time(), []
    for place, number in enumerate(_numbers(plan)):
        due += dice.expovariate(per_s)
        await asyncio.sleep(max(due - time.time(), 0))
        pair = plan.pairs[place % len(plan.pairs)]
        under_way.append(asyncio.create_task(driver.drive(number, pair, due)))
    return await asyncio.gather(*under_way)


def _numbers(plan: Plan) -> Iterator[int]:
    return iter(range(plan.first, plan.first + plan.contracts))


async def run(plan: Plan) -> list[Driven]:
    """The whole plan."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(timeout=ANSWER_S, trust_env=False, limits=limits) as http:
        driver = Driver(http, plan.urls)
        return await (closed(plan, driver) if plan.per_s is None else opened(plan, driver, plan.per_s))


def main() -> None:
    """Plan in, `ready` out, `go` in, a line for each contract out."""
    plan = Plan.model_validate_json(sys.stdin.readline())
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    if sys.stdin.readline() != "go\n":
        return  # whoever started this is gone
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(run(plan))
    sys.stdout.writelines(f"{each.line()}\n" for each in found)


if __name__ == "__main__":
    main()
