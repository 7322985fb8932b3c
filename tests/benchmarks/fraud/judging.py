"""Judgement of a population: requests by the engine, decisions by governance's handler over a store."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import structlog

from aex_governance.deps import Deps
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.rules.config import RuleConfig
from aex_models.governance import Action, PreviousAttempt, ValidationDecision, ValidationRequest
from aex_outcomes import VerificationEngine
from aex_outcomes.engine.candidate import Assessment, VerificationInput
from aex_outcomes.lifecycle.outputs import output_hash
from aex_runtime.clock import SetClock
from aex_runtime.store.factory import open_store
from aex_runtime.unit_of_work import UnitOfWork
from tests.benchmarks.fraud.population import START, Limits, Moment, Size, story, story_keys, timeline
from tests.benchmarks.fraud.stories import Attempt, Label

Validate = Callable[[ValidationRequest, datetime], Awaitable[ValidationDecision]]
Serve = Callable[[], AbstractAsyncContextManager[Validate]]
STORES = ("memory", "sqlite")


@dataclass(frozen=True, slots=True)
class Judged:
    """An example with its decision."""

    key: str
    label: Label
    decision: ValidationDecision

    @property
    def is_found(self) -> bool:
        """Return whether the expected flag was raised with its severity."""
        flags = self.decision.flags
        return any(flag.rule == self.label.subject and flag.severity is self.label.severity for flag in flags)

    @property
    def is_stopped(self) -> bool:
        return self.decision.action is not Action.ALLOW


def velocity_limits(rules: Mapping[str, RuleConfig]) -> Limits:
    found = rules["velocity"].thresholds
    return Limits(found["max_agent_outcomes"], found["max_pair_outcomes"], found["window_s"] / 60)


def serving(rules: Mapping[str, RuleConfig], store: str) -> Serve:
    """Return the service with these rules over a new store."""

    @asynccontextmanager
    async def serve() -> AsyncIterator[Validate]:
        with TemporaryDirectory(prefix="aex-governance-report-") as folder:
            url = "memory:" if store == "memory" else f"sqlite:///{Path(folder) / 'governance.db'}"
            opened, clock = open_store(url), SetClock(START)
            deps = Deps(UnitOfWork("governance", opened, clock, lambda _: None), opened, clock, rules)

            async def validate(request: ValidationRequest, at: datetime) -> ValidationDecision:
                clock.advance(at - clock.now())
                return await validate_outcome(deps, request)

            try:
                yield validate
            finally:
                await opened.close()

    return serve


class Requests:
    """Validation requests of candidates, made by the engine as verification makes them."""

    def __init__(self) -> None:
        self._engine = VerificationEngine({"caching": {"extractor_results_ttl": 0}})

    async def request(self, moment: Moment) -> ValidationRequest:
        """Return the request about one attempt."""
        attempt = moment.story.attempts[moment.index]
        forms: dict[str, str] = {}
        judged: list[tuple[str, Mapping[str, Any]]] = []
        for output in attempt.earlier:
            earlier = await self._assess(attempt, output, {}, moment.at)
            judged.append((output_hash(output), earlier.result.metrics))
            forms[output_hash(output)] = earlier.facts.structured_form or earlier.facts.output_text or ""
        facts = (await self._assess(attempt, attempt.output, forms, moment.at)).facts
        digest = output_hash(attempt.output)
        return ValidationRequest(
            attempt_id=moment.story.attempt_id(moment.index),
            contract_id=moment.story.attempt_id(moment.index - attempt.is_retry).replace("att_", "ctr_", 1),
            work_id=attempt.work.work_id,
            domain=attempt.work.domain,
            agent=attempt.agent,
            consumer=attempt.work.consumer,
            extracted_metrics={**facts.extracted_metrics, **attempt.measured},
            claimed_metrics=dict(attempt.claimed),
            science=attempt.science,
            execution_metadata=dict(attempt.metadata),
            platform_latency_ms=attempt.platform_latency_ms,
            output_text=facts.output_text,
            other_text=facts.other_text,
            output_hash=digest,
            reference_similarity=facts.reference_similarity,
            keyword_stats=facts.keyword_stats,
            previous_attempts=tuple(
                PreviousAttempt(
                    output_hash=each,
                    metrics=dict(metrics),
                    similarity=1.0 if each == digest else facts.similarities.get(each),
                )
                for each, metrics in judged
            ),
            received_at=moment.at,
        )

    async def _assess(self, attempt: Attempt, output: Any, earlier: Mapping[str, str], at: datetime) -> Assessment:
        case = VerificationInput(
            contract_id="ctr_1",
            work_input=attempt.work.input,
            work_output=output,
            success_criteria=attempt.work.criteria,
            execution_metadata=attempt.metadata,
            evaluation=attempt.work.evaluation,
            verification_id="ver_1",
            verified_at=at,
            platform_latency_ms=attempt.platform_latency_ms,
            reasoning=attempt.reasoning,
            earlier={digest: form for digest, form in earlier.items() if form},
        )
        return await self._engine.assess(case)


async def judge(seed: int, size: Size, serve: Serve, limits: Limits) -> list[Judged]:
    """Return the labelled attempts of one seed."""
    judged, requests = [], Requests()
    async with serve() as validate:
        for moment in timeline([story(key, limits) for key in story_keys(seed, size)]):
            decision = await validate(await requests.request(moment), moment.at)
            label = moment.story.attempts[moment.index].label
            if label is not None:
                judged.append(Judged(moment.story.key, label, decision))
    return judged


def judge_seeds(seeds: Sequence[int], size: Size, rules: Mapping[str, RuleConfig], store: str) -> list[Judged]:
    """Return the labelled attempts of all seeds, judged in one process per processor."""
    work = partial(_judge_seed, size=size, rules=dict(rules), store=store)
    if len(seeds) == 1:
        return work(seeds[0])
    workers = min(len(seeds), os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return [each for found in pool.map(work, seeds) for each in found]


def _judge_seed(seed: int, size: Size, rules: Mapping[str, RuleConfig], store: str) -> list[Judged]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    return asyncio.run(judge(seed, size, serving(rules, store), velocity_limits(rules)))
