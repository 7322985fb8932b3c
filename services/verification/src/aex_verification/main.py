"""The verification service, composed: the only place where its backends are chosen."""

import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

from fastapi import FastAPI
from opentelemetry.trace import TracerProvider

from aex_outcomes.config import SandboxConfig
from aex_outcomes.science.confined import ConfinedExaminer
from aex_outcomes.science.limits import DataLimits
from aex_runtime.http.app import build_app
from aex_runtime.http.metrics import GaugeSpec
from aex_runtime.service import Backends, assemble
from aex_verification.api import routes
from aex_verification.calling_out import LateClient, client_within
from aex_verification.clients import HttpAwards, HttpGovernance
from aex_verification.deps import Deps
from aex_verification.followers import Followers
from aex_verification.judge import ConfinedJudge
from aex_verification.measures import MEASURES, ExtractionTimes
from aex_verification.outcome_config import load_catalog, load_verifiers
from aex_verification.pool_on_demand import PoolOnDemand
from aex_verification.pools import candidate_pool, sandbox_pool, science_pool, verifier_pool
from aex_verification.review.factory import build_reviewer
from aex_verification.rules.policy import Policy, verifying_lease
from aex_verification.sandbox_desk import SandboxDesk
from aex_verification.settings import Settings
from aex_verification.silence import Silence
from aex_verification.spool import Spool
from aex_verification.subscriptions import subscriptions, timers
from aex_verification.trials import ConfinedTrials
from aex_verification.turnstile import Turnstile
from aex_verification.under_way import UnderWay
from aex_verification.verifiers import ConfinedVerifiers
from aex_verification.waits import Waits
from aex_verification.warming_pool import WarmingPool

SERVICE = "verification"
SLOW_OF_ONE, SLOW_OF_ALL = 3, 6
"""Handlers that wait for custom code, a named verifier or an examination at once, of one consumer and in all: fewer
than handle events, and fewer than fire timers, so that contracts without any go on whatever those do."""


def create_app(
    settings: Settings | None = None, backends: Backends | None = None, tracers: TracerProvider | None = None
) -> FastAPI:
    """The application; `tracers` take its spans. Raises `BadConfiguration` for an outcome configuration of no use."""
    chosen = settings or Settings()
    catalog = load_catalog(chosen)
    config = catalog.config
    registered = load_verifiers(chosen, config)
    parts = assemble(SERVICE, chosen, backends, tracers)
    pool, operators = WarmingPool(candidate_pool(chosen)), verifier_pool(chosen, registered)
    limits, reading = config.sections()["custom"].sandbox, config.sections()["statistics"].sandbox
    science, spool = PoolOnDemand(science_pool(chosen, reading)), Spool(parts.backends.blobs, chosen.spool_dir)
    reviewer = build_reviewer(chosen, parts.backends.ids)
    sandbox = SandboxDesk(
        partial(sandbox_pool, chosen, limits.memory_limit_mb) if chosen.sandbox_workers else None, parts.backends.ids
    )
    confined = (pool, sandbox, config.as_json(), chosen.verify_timeout_s, limits.timeout_ms)
    client = LateClient(partial(client_within, chosen.governance_timeout_s))
    times = ExtractionTimes(parts.metrics, catalog.extractors)
    deps = Deps(
        unit_of_work=parts.unit_of_work,
        store=parts.backends.store,
        blobs=parts.backends.blobs,
        clock=parts.backends.clock,
        ids=parts.backends.ids,
        judge=ConfinedJudge(*confined, times),
        examiner=ConfinedExaminer(science, DataLimits.within(reading)),
        spool=spool,
        reviewer=reviewer,
        verifiers=ConfinedVerifiers(
            operators, {name: registered.timeout_ms(name) for name in registered.names}, config.as_json()
        ),
        trials=ConfinedTrials(*confined),
        slow_places=Turnstile(SLOW_OF_ONE, SLOW_OF_ALL),
        governance=HttpGovernance(
            client,
            chosen.governance_url,
            parts.service_tokens,
            Silence(chosen.governance_timeout_s, time.monotonic),
            parts.metrics,
        ),
        awards=HttpAwards(client, chosen.work_publisher_url, parts.service_tokens),
        waits=Waits(chosen.max_waits),
        under_way=UnderWay(),
        policy=Policy(
            max_system_retries=chosen.max_system_retries,
            verifying=_verifying(chosen, reading),
            governance_check=config.verification.governance_check,
        ),
        catalog=catalog,
        followers=Followers(chosen.following_bounds()),
    )
    return build_app(
        parts,
        routes(deps),
        subscriptions=subscriptions(deps),
        timers=timers(deps),
        resources=[
            lambda: pool,
            *([lambda: operators] if operators else []),
            lambda: sandbox,
            lambda: science,
            lambda: spool,
            *([lambda: reviewer] if reviewer else []),
            lambda: client,
        ],
        vital={"workers": lambda: pool.missing},
        dispensable={"sandbox": lambda: sandbox.missing},
        gauges=[
            GaugeSpec("aex_sandbox_up", "Whether custom metrics are served: 1 or 0", _up(sandbox)),
            GaugeSpec("aex_event_streams", "Streams of contract events that are open", deps.followers.count),
        ],
        measures=(*MEASURES, times.seconds),
    )


def _verifying(chosen: Settings, reading: SandboxConfig) -> timedelta:
    review_s = chosen.review_timeout_s * chosen.review_attempts if chosen.review_model else 0
    return verifying_lease(timedelta(milliseconds=reading.timeout_ms), timedelta(seconds=review_s))


def _up(sandbox: SandboxDesk) -> Callable[[], Awaitable[float]]:
    async def up() -> float:
        return float(sandbox.missing is None)

    return up
