"""The demo from its first line to its last, around a running suite."""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aex_cli.demo.cast import gathered
from aex_cli.demo.digits_chapter import Lesson, learn, tell_digits
from aex_cli.demo.evidence import evidence, log_ends
from aex_cli.demo.expectations import NotAsTold
from aex_cli.demo.fitness_chapter import tell_fitness
from aex_cli.demo.money_chapter import tell_settlement
from aex_cli.demo.next_steps import tell_next_steps
from aex_cli.demo.places import Places
from aex_cli.demo.running import while_up
from aex_cli.demo.summary_chapter import tell_summary
from aex_cli.report import Report
from aex_cli.signing_key import signing_key
from aex_cli.suite.child import Launch
from aex_cli.suite.service_spec import ServiceSpec
from aex_client import AexError, Endpoints
from aex_runtime.clock import WallClock
from aex_runtime.commandline.errors import Failed
from aex_runtime.commandline.output import complain
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.ids import RandomIds


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the demo plays: its services, how they are started, the data directory as its user wrote it, and the
    places of what is kept."""

    specs: Sequence[ServiceSpec]
    launch: Launch
    data_dir: Path
    places: Places


async def play(stage: Stage, report: Report) -> None:
    """Start the suite, tell the whole story, stop the suite. No process is left, however it ends.

    Raises `Failed` where the story does not go as told, and what `while_up` raises.
    """
    begin = time.monotonic()
    first, last = stage.specs[0].port, stage.specs[-1].port
    report.chapter("AEX Outcomes: agents are paid for verified outcomes")
    report.step("start", f"four services as four processes, ports {first} to {last}")
    report.step("kept", stage.places.told)
    # Beside the services' start: the import of scikit-learn takes seconds.
    lesson = asyncio.create_task(asyncio.to_thread(learn))
    try:
        contract_id = await while_up(stage.specs, stage.launch, lambda: _told(stage, lesson, begin, report), complain)
    finally:
        lesson.cancel()
        await asyncio.gather(lesson, return_exceptions=True)
    report.step("stopped", f"the suite is down, {stage.places.afterwards}; {time.monotonic() - begin:.1f} s in all")
    tell_next_steps(stage.specs, stage.data_dir, stage.places.exports, contract_id, report)


async def _told(stage: Stage, lesson: Awaitable[Lesson], begin: float, report: Report) -> str:
    """The story's first contract. What goes wrong is raised as `Failed`, with the logs as they are at that moment."""
    ends = log_ends(stage.specs, stage.launch)
    try:
        return await _tell(stage, lesson, begin, report)
    except (NotAsTold, AexError) as error:
        raise Failed(f"the demo did not go as told: {error}\n{evidence(ends)}") from None


async def _tell(stage: Stage, lesson: Awaitable[Lesson], begin: float, report: Report) -> str:
    ready = time.monotonic()
    report.step("ready", f"all four answer, after {ready - begin:.1f} s")
    endpoints = Endpoints(*(spec.url for spec in stage.specs))
    issuer = LocalIssuer(signing_key(stage.data_dir), WallClock(), RandomIds())
    async with gathered(endpoints, issuer) as cast:
        outcomes = [
            await tell_summary(cast, report),
            await tell_digits(cast, lesson, report),
            await tell_fitness(cast, report),
        ]
        await tell_settlement(cast, outcomes, report)
    report.step("time", f"{time.monotonic() - ready:.1f} s from the first publication to the trial balance")
    return outcomes[0].contract_id
