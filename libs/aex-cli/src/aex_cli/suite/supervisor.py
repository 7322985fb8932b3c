"""Supervisor of the service processes: start, readiness, bounded restarts, and stop by signals."""

import asyncio
import random
import signal
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from aex_cli.suite.child import Launch, ServiceProcess, describe_exit
from aex_cli.suite.readiness import ReadinessProbe
from aex_cli.suite.service_spec import ServiceSpec


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """Limits on restarts of a service: at most `limit` within `window_s` seconds, after growing pauses.

    The pause starts at `first_pause_s` and doubles up to `longest_pause_s`, in seconds.
    """

    limit: int = 5
    window_s: float = 60.0
    first_pause_s: float = 0.2
    longest_pause_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Restarts:
    """The recent restarts of one service. `moments`: their times in monotonic seconds."""

    policy: RestartPolicy
    moments: tuple[float, ...] = ()

    def record_death(self, now: float) -> "Restarts | None":
        """Return the recent restarts with one more at `now`; None if the policy allows no further restart."""
        recent = tuple(moment for moment in self.moments if now - moment < self.policy.window_s)
        if len(recent) >= self.policy.limit:
            return None
        return replace(self, moments=(*recent, now))

    def pause_s(self, jitter: float) -> float:
        """Return the seconds to wait before the restart that was recorded last.

        The pause doubles with each recent restart up to a limit; `jitter` in [0, 1) varies it by ±25 %.
        """
        doubled: float = self.policy.first_pause_s * 2 ** (max(len(self.moments), 1) - 1)
        return min(doubled, self.policy.longest_pause_s) * (0.75 + jitter / 2)


STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ECHO_S = 0.3
"""Seconds in which a further signal counts as the same: `uv run` and `timeout` forward signals."""


class StopRequest:
    """The stop signals received so far. The first one requests a drain, a later one an immediate stop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.requested = asyncio.Event()
        self.immediate = asyncio.Event()
        self._loop = loop
        self._requested_at = 0.0

    @classmethod
    @contextmanager
    def handle_stop_signals(cls, loop: asyncio.AbstractEventLoop) -> Iterator["StopRequest"]:
        """Handle the stop signals during the block, and yield the `StopRequest` that they set.

        SIGHUP stays ignored under `nohup`.
        """
        request = cls(loop)
        under_nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        handled = [number for number in STOP_SIGNALS if not (number is signal.SIGHUP and under_nohup)]
        for number in handled:
            loop.add_signal_handler(number, request.receive_signal)
        try:
            yield request
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    def receive_signal(self) -> None:
        if not self.requested.is_set():
            self._requested_at = self._loop.time()
            self.requested.set()
        elif self._loop.time() - self._requested_at > _ECHO_S:
            self.immediate.set()


class SuiteFailed(Exception):
    """The error for a suite that cannot run. The message names service and cause, with the end of its log."""


@dataclass(frozen=True, slots=True)
class SuitePolicy:
    """The limits of the supervisor: seconds to become ready and to stop, and the restarts.

    `stop_s` exceeds the time that services take to drain, so that only a hanging service is killed.
    """

    ready_s: float = 60.0
    stop_s: float = 20.0
    restarts: RestartPolicy = field(default_factory=RestartPolicy)


class Supervisor:
    """Supervisor of the services in `specs`: it starts, restarts and stops their processes.

    It calls `on_ready` once, when all are ready, and `notify` with each message for the user.
    """

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
        self._children: dict[str, ServiceProcess] = {}
        self._random = random.SystemRandom()

    async def run(self) -> int:
        """Run the services until a stop signal, and return the exit code: 0, or 130 after a second signal.

        Raises `SuiteFailed` if a service does not start or ends too often. In every case all child processes have
        ended.
        """
        with StopRequest.handle_stop_signals(asyncio.get_running_loop()) as stop:
            work = asyncio.create_task(self._supervise())
            requested = asyncio.create_task(stop.requested.wait())
            try:
                await asyncio.wait({work, requested}, return_when=asyncio.FIRST_COMPLETED)
                if requested.done():
                    self._notify("stopping; a second Ctrl-C kills at once")
            finally:
                await _cancel(work, requested)
                await self._stop_all(stop)
            if not work.cancelled():
                work.result()
            return 130 if stop.immediate.is_set() else 0

    async def _supervise(self) -> None:
        probe = ReadinessProbe()
        for spec in self._specs:
            self._children[spec.label] = await ServiceProcess.start(spec, self._specs, self._launch)
        await self._wait_until_all_ready(probe)
        self._on_ready()
        await _run_until_failure([self._restart_on_exit(spec, probe) for spec in self._specs])

    async def _wait_until_all_ready(self, probe: ReadinessProbe) -> None:
        try:
            async with asyncio.timeout(self._policy.ready_s):
                await _run_until_failure([_wait_until_ready(child, probe) for child in self._children.values()])
        except TimeoutError:
            late = "; ".join(f"{name}: {answer}" for name, answer in probe.find_last_answers_of_unready().items())
            logs = f"logs: {self._launch.logs}"
            raise SuiteFailed(f"not ready within {self._policy.ready_s:g} s: {late}; {logs}") from None

    async def _restart_on_exit(self, spec: ServiceSpec, probe: ReadinessProbe) -> None:
        """Restart the service whenever it ends. Raises `SuiteFailed` if the policy allows no further restart."""
        policy = self._policy.restarts
        restarts = Restarts(policy)
        while True:
            child = self._children[spec.label]
            cause = describe_exit(await asyncio.shield(child.exit))
            after = restarts.record_death(time.monotonic())
            if after is None:
                often = f"died more than {policy.limit} times in {policy.window_s:g} s"
                raise SuiteFailed(_exit_message(child, f"{often}, last of {cause}"))
            restarts = after
            pause_s = restarts.pause_s(self._random.random())
            plan = f"restarting in {pause_s:.1f} s ({len(restarts.moments)} of {policy.limit})"
            self._notify(f"{spec.label} died ({cause}); {plan}; log: {child.log}")
            await asyncio.sleep(pause_s)
            self._children[spec.label] = await ServiceProcess.start(spec, self._specs, self._launch)
            await self._notify_when_ready(self._children[spec.label], probe)

    async def _notify_when_ready(self, child: ServiceProcess, probe: ReadinessProbe) -> None:
        try:
            async with asyncio.timeout(self._policy.ready_s):
                await _wait_until_ready(child, probe)
        except SuiteFailed:
            return  # it died: the caller's loop counts that
        except TimeoutError:
            self._notify(f"{child.spec.label} runs again but is not ready: {probe.last.get(child.spec.label)}")
        else:
            self._notify(f"{child.spec.label} is ready again")

    async def _stop_all(self, stop: StopRequest) -> None:
        """Stop all processes by SIGTERM. After `stop_s`, or a second signal, SIGKILL ends those still running."""
        running = [child for child in self._children.values() if not child.exit.done()]
        for child in running:
            child.terminate()
        ended = asyncio.create_task(_wait_for_exits(running))
        immediate = asyncio.create_task(stop.immediate.wait())
        await asyncio.wait({ended, immediate}, timeout=self._policy.stop_s, return_when=asyncio.FIRST_COMPLETED)
        for child in running:
            if not child.exit.done():
                self._notify(f"{child.spec.label} had not stopped and was killed")
                child.kill()
        await _wait_for_exits(running)
        await _cancel(ended, immediate)


async def _wait_until_ready(child: ServiceProcess, probe: ReadinessProbe) -> None:
    """Wait until the process is ready. Raises `SuiteFailed` if it ends first."""
    ready = asyncio.create_task(probe.wait_until_ready(child.spec))
    try:
        await asyncio.wait({child.exit, ready}, return_when=asyncio.FIRST_COMPLETED)
        if child.exit.done():
            raise SuiteFailed(_exit_message(child, f"did not start ({describe_exit(child.exit.result())})"))
        ready.result()
    finally:
        await _cancel(ready)


async def _wait_for_exits(children: Sequence[ServiceProcess]) -> None:
    if children:
        await asyncio.wait({child.exit for child in children})


async def _run_until_failure(work: Sequence[Coroutine[None, None, None]]) -> None:
    """Run the coroutines until all are done. At the first error, cancel the others and raise it."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        await _cancel(*tasks)


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks and wait until they have ended, ignoring their errors."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _exit_message(child: ServiceProcess, cause: str) -> str:
    return f"{child.spec.label} {cause}; log: {child.log}\n{child.read_log_tail()}"
