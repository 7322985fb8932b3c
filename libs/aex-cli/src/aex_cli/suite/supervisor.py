"""Runs the services together: starts them, says when they are ready, restarts what dies, stops them all."""

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from aex_cli.suite.child import Child, Launch, describe_exit
from aex_cli.suite.readiness import ReadinessProbe
from aex_cli.suite.restarts import RestartPolicy, Restarts
from aex_cli.suite.service_spec import ServiceSpec
from aex_cli.suite.stop_signals import StopRequest


class SuiteFailed(Exception):
    """The suite cannot go on; the message says which service, why, and shows the end of its log."""


@dataclass(frozen=True, slots=True)
class SuitePolicy:
    """The bounds of the supervisor's patience, in seconds.

    `stop_s` is longer than a service's own drain, so that SIGKILL meets only what hangs.
    """

    ready_s: float = 60.0
    stop_s: float = 20.0
    restarts: RestartPolicy = field(default_factory=RestartPolicy)


class Supervisor:
    """Supervises a table of services. `on_ready` is called once, `notify` with each line worth telling."""

    def __init__(
        self,
        specs: Sequence[ServiceSpec],
        launch: Launch,
        policy: SuitePolicy,
        on_ready: Callable[[], None],
        notify: Callable[[str], None],
    ) -> None:
        self._specs = tuple(specs)
        self._launch = launch
        self._policy = policy
        self._on_ready = on_ready
        self._notify = notify
        self._children: dict[str, Child] = {}
        self._random = random.SystemRandom()

    async def run(self) -> int:
        """Until a signal asks to stop (0; 130 where a second one cut the drain short). Raises `SuiteFailed`.

        However it ends, no child is left.
        """
        with StopRequest.listening(asyncio.get_running_loop()) as stop:
            work = asyncio.create_task(self._supervise())
            asked = asyncio.create_task(stop.asked.wait())
            try:
                await asyncio.wait({work, asked}, return_when=asyncio.FIRST_COMPLETED)
                if asked.done():
                    self._notify("stopping; a second Ctrl-C kills at once")
            finally:
                await _cancelled(work, asked)
                await self._stop_all(stop)
            if not work.cancelled():
                work.result()
            return 130 if stop.at_once.is_set() else 0

    async def _supervise(self) -> None:
        probe = ReadinessProbe()
        for spec in self._specs:
            self._children[spec.label] = await self._start(spec)
        await self._all_ready(probe)
        self._on_ready()
        await _until_one_fails([self._keep(spec, probe) for spec in self._specs])

    async def _start(self, spec: ServiceSpec) -> Child:
        return await Child.start(spec, self._specs, self._launch)

    async def _all_ready(self, probe: ReadinessProbe) -> None:
        try:
            async with asyncio.timeout(self._policy.ready_s):
                await _until_one_fails([_ready(child, probe) for child in self._children.values()])
        except TimeoutError:
            late = "; ".join(f"{name}: {answer}" for name, answer in probe.waiting().items())
            logs = f"logs: {self._launch.logs}"
            raise SuiteFailed(f"not ready within {self._policy.ready_s:g} s: {late}; {logs}") from None

    async def _keep(self, spec: ServiceSpec, probe: ReadinessProbe) -> None:
        """Restart the service whenever it dies, as often as the policy allows; then raise `SuiteFailed`."""
        policy = self._policy.restarts
        restarts = Restarts(policy)
        while True:
            child = self._children[spec.label]
            cause = describe_exit(await asyncio.shield(child.exit))
            after = restarts.after_death(time.monotonic())
            if after is None:
                often = f"died more than {policy.limit} times in {policy.window_s:g} s"
                raise SuiteFailed(_obituary(child, f"{often}, last of {cause}"))
            restarts = after
            pause_s = restarts.pause_s(self._random.random())
            again = f"restarting in {pause_s:.1f} s ({len(restarts.moments)} of {policy.limit})"
            self._notify(f"{spec.label} died ({cause}); {again}; log: {child.log}")
            await asyncio.sleep(pause_s)
            self._children[spec.label] = await self._start(spec)
            await self._tell_when_ready(self._children[spec.label], probe)

    async def _tell_when_ready(self, child: Child, probe: ReadinessProbe) -> None:
        try:
            async with asyncio.timeout(self._policy.ready_s):
                await _ready(child, probe)
        except SuiteFailed:
            return  # it died again: the loop around counts that
        except TimeoutError:
            self._notify(f"{child.spec.label} runs again but is not ready: {probe.last.get(child.spec.label)}")
        else:
            self._notify(f"{child.spec.label} is ready again")

    async def _stop_all(self, stop: StopRequest) -> None:
        """SIGTERM to all, then SIGKILL to what is left after the bound, or at once where a second signal says so."""
        living = [child for child in self._children.values() if not child.exit.done()]
        for child in living:
            child.terminate()
        ended = asyncio.create_task(_all_ended(living))
        hurry = asyncio.create_task(stop.at_once.wait())
        await asyncio.wait({ended, hurry}, timeout=self._policy.stop_s, return_when=asyncio.FIRST_COMPLETED)
        for child in living:
            if not child.exit.done():
                self._notify(f"{child.spec.label} had not stopped and was killed")
                child.kill()
        await _all_ended(living)
        await _cancelled(ended, hurry)


async def _ready(child: Child, probe: ReadinessProbe) -> None:
    """Return once the child is ready; raise `SuiteFailed` where it ends before."""
    ready = asyncio.create_task(probe.until_ready(child.spec))
    try:
        await asyncio.wait({child.exit, ready}, return_when=asyncio.FIRST_COMPLETED)
        if child.exit.done():
            raise SuiteFailed(_obituary(child, f"did not start ({describe_exit(child.exit.result())})"))
        ready.result()
    finally:
        await _cancelled(ready)


async def _all_ended(children: Sequence[Child]) -> None:
    if children:
        await asyncio.wait({child.exit for child in children})


async def _until_one_fails(work: Sequence[Coroutine[None, None, None]]) -> None:
    """Run them together until all are done; the first error ends the others, and is raised."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        await _cancelled(*tasks)


async def _cancelled(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks and wait until they have ended; their errors stay with them."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _obituary(child: Child, what: str) -> str:
    return f"{child.spec.label} {what}; log: {child.log}\n{child.tail()}"
