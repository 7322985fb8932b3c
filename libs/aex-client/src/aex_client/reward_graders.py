"""Graders of completions for rewards: a service, this process, or confined workers of this machine."""

import asyncio
import importlib.util
import os
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

from aex_client.client import AexClient
from aex_client.errors import InvalidRequest, ProblemError, Unavailable
from aex_client.views import VerificationView
from aex_models.batch import BatchOutput
from aex_models.canonical import NotCanonical
from aex_models.criteria import SuccessCriteria
from aex_models.results import VerificationResult
from aex_models.work import Problem
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.local import LocalGrader, LostVerdict, make_payload, parse_results
from aex_outcomes.engine.slow_metrics import has_slow_metric
from aex_outcomes.lifecycle.outputs import candidate_hash
from aex_outcomes.submission.batch import MAX_GROUP, SharedBatchInput, check_batch_output, check_shared_input
from aex_outcomes.submission.verify_request import VerifyRequest

Graded = VerificationResult | VerificationView | ProblemError
"""Verdict on an output, or the problem for which it has none."""
_MEASURING = "rapidfuzz"
"""Package of the extra `measuring` of aex-outcomes, without which the engine measures nothing."""
_SIZE = min(os.cpu_count() or 1, 8)
"""Number of confined workers."""


class OutputGrader(Protocol):
    """Grader of outputs by the same criteria."""

    def grade(self, outputs: Sequence[BatchOutput]) -> list[Graded]:
        """Return the verdict on each output, or its problem, in order."""
        ...

    def close(self) -> None:
        """End what the grader has started."""
        ...


class ServiceGrader:
    """Grader that sends outputs to the verification service in batches."""

    def __init__(self, client: AexClient, criteria: SuccessCriteria, shared: Mapping[str, Any]) -> None:
        self._client, self._criteria, self._shared = client, criteria, shared

    def grade(self, outputs: Sequence[BatchOutput]) -> list[Graded]:
        """Return the verdict on each output, or its problem, in order. Raises the errors of the client."""
        found = self._client.verify_batch(self._criteria, outputs, **self._shared)
        return [_require_answer(each.result, each.problem) for each in found]

    def close(self) -> None:
        """Leave the client open, because its owner closes it."""


def _require_answer(result: VerificationView | None, problem: ProblemError | None) -> Graded:
    answer = result or problem
    if answer is None:
        raise TypeError("an output was answered with neither a result nor a problem")
    return answer


class OfflineGrader:
    """Grader that runs the engine in this process, or in long-lived confined workers if a metric is slow."""

    def __init__(self, criteria: SuccessCriteria, shared: Mapping[str, Any], config: Path | None) -> None:
        """Check criteria and shared data. Raises `InvalidRequest` with all problems, and `ImportError`."""
        if importlib.util.find_spec(_MEASURING) is None:
            raise ImportError("offline rewards need the engine: install aex-outcomes[measuring], or give a client")
        self._catalog = Catalog.from_config_file(config)
        body = {"success_criteria": criteria.model_dump(mode="json"), **shared}
        common = check_shared_input(body, self._catalog)
        if not isinstance(common, SharedBatchInput):
            raise _make_problem(common.problems)
        self._common = common
        self._thread = ThreadPoolExecutor(1, "aex-rewards")
        self._workers = GradingThread(criteria, self._catalog) if has_slow_metric(criteria, self._catalog) else None

    def grade(self, outputs: Sequence[BatchOutput]) -> list[Graded]:
        """Return the verdict on each output, or its problem, in order."""
        checked = [self._check(each) for each in outputs]
        trials = [each for each in checked if isinstance(each, VerifyRequest)]
        # In a thread of its own, because a notebook's thread already runs an event loop.
        graded = self._workers.grade(trials) if self._workers else self._thread.submit(self._grade, trials).result()
        following = iter(graded)
        return [next(following) if isinstance(each, VerifyRequest) else each for each in checked]

    def close(self) -> None:
        """End the workers and the thread."""
        self._thread.shutdown()
        if self._workers is not None:
            self._workers.close()

    def _check(self, output: BatchOutput) -> VerifyRequest | ProblemError:
        line = output.model_dump(exclude_unset=True)
        checked = check_batch_output(line, self._common, self._catalog)
        if checked.request is None:
            return _make_problem(checked.problems)
        try:
            candidate_hash(checked.request)
        except NotCanonical as error:
            return _make_problem([Problem(path=error.path, code="not_canonical", message=error.problem)])
        return checked.request

    def _grade(self, trials: Sequence[VerifyRequest]) -> list[Graded]:
        groups = [trials[start : start + MAX_GROUP] for start in range(0, len(trials), MAX_GROUP)]
        return [graded for group in groups for graded in self._grade_group(group)]

    def _grade_group(self, trials: Sequence[VerifyRequest]) -> list[Graded]:
        from aex_outcomes.engine.job import verify_candidates  # noqa: PLC0415 loads the engine

        try:
            return [*parse_results(verify_candidates(make_payload(trials, self._catalog)))]
        except Exception as error:  # noqa: BLE001 an engine that fails on one output may grade others
            if len(trials) > 1:
                return [graded for each in trials for graded in self._grade_group([each])]
            return [_make_lost_verdict(f"the engine failed: {type(error).__name__}")]


class GradingThread:
    """Thread with an event loop, on which confined workers grade outputs until it is closed."""

    def __init__(self, criteria: SuccessCriteria, catalog: Catalog) -> None:
        self._grader, self._stack = LocalGrader(criteria, catalog, _SIZE), AsyncExitStack()
        self._slots = asyncio.Semaphore(_SIZE)
        self._loop = asyncio.new_event_loop()
        self._is_started = False
        self._thread = Thread(target=self._loop.run_forever, name="aex-reward-workers", daemon=True)
        self._thread.start()
        self._finalizer = weakref.finalize(self, _stop, self._loop, self._stack, self._thread)

    def grade(self, trials: Sequence[VerifyRequest]) -> list[Graded]:
        """Return the verdict on each output in order, or its problem. The first call starts the workers."""
        return asyncio.run_coroutine_threadsafe(self._grade(trials), self._loop).result()

    def close(self) -> None:
        """End the workers and the thread; a second call does nothing."""
        self._finalizer()

    async def _grade(self, trials: Sequence[VerifyRequest]) -> list[Graded]:
        if not self._is_started:
            await self._stack.enter_async_context(self._grader)
            self._is_started = True
        return await asyncio.gather(*map(self._grade_alone, trials))

    async def _grade_alone(self, trial: VerifyRequest) -> Graded:
        async with self._slots:
            (found,) = await self._grader.grade([trial])
        return _make_lost_verdict(found.reason) if isinstance(found, LostVerdict) else found


def _stop(loop: asyncio.AbstractEventLoop, stack: AsyncExitStack, thread: Thread) -> None:
    asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def _make_problem(problems: Sequence[Problem]) -> InvalidRequest:
    return InvalidRequest(InvalidRequest.STATUS, "invalid_verification", problems[0].message, tuple(problems))


def _make_lost_verdict(reason: str) -> Unavailable:
    return Unavailable(Unavailable.STATUS, "verification_lost", reason)
