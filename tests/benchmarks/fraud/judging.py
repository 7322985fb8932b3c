"""Every example of some seeds, put to the service; and what came of it."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import structlog

from aex_governance.rules.config import RuleConfig
from aex_models.governance import Action, ValidationDecision, ValidationRequest
from tests.benchmarks.fraud.asking import Asking
from tests.benchmarks.fraud.population import Limits, Moment, Size, keys, story, timeline
from tests.benchmarks.fraud.service import Serve, limits_of, serving
from tests.benchmarks.fraud.story import Label


@dataclass(frozen=True, slots=True)
class Judged:
    """One example, and the decision on it."""

    key: str
    label: Label
    decision: ValidationDecision

    @property
    def is_found(self) -> bool:
        """Whether the flag that is due was raised, as gravely as is due."""
        return any(
            flag.rule == self.label.subject and flag.severity is self.label.severity for flag in self.decision.flags
        )

    @property
    def is_stopped(self) -> bool:
        """Held or rejected."""
        return self.decision.action is not Action.ALLOW


Watch = Callable[[Moment, ValidationRequest, ValidationDecision], None]


async def judge(seed: int, size: Size, serve: Serve, limits: Limits, watch: Watch | None = None) -> list[Judged]:
    """The labelled attempts of one seed: a population of its own, over a store of its own."""
    judged = []
    asking = Asking()
    async with serve() as validate:
        for moment in timeline([story(key, limits) for key in keys(seed, size)]):
            request = await asking.request(moment)
            decision = await validate(request, moment.at)
            if watch is not None:
                watch(moment, request, decision)
            label = moment.story.attempts[moment.place].label
            if label is not None:
                judged.append(Judged(moment.story.key, label, decision))
    return judged


def judged_seeds(seeds: Sequence[int], size: Size, rules: Mapping[str, RuleConfig], store: str) -> list[Judged]:
    """Those of all seeds, as many of them at a time as there are processors."""
    work = partial(_judged, size=size, rules=dict(rules), store=store)
    if len(seeds) == 1:
        return work(seeds[0])
    workers = min(len(seeds), os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return [each for found in pool.map(work, seeds) for each in found]


def _judged(seed: int, size: Size, rules: Mapping[str, RuleConfig], store: str) -> list[Judged]:
    """As a process of its own does it: it says no more than what goes wrong."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    return asyncio.run(judge(seed, size, serving(rules, store), limits_of(rules)))
