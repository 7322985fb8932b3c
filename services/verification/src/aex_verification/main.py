"""The verification service, composed: the only place where its backends are chosen."""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial

import httpx
from fastapi import FastAPI

from aex_outcomes.catalog import Catalog
from aex_outcomes.config import InvalidConfig, VerificationConfig
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.sandbox.disposable import MEMORY_MB
from aex_runtime.http.app import build_app
from aex_runtime.http.metrics import GaugeSpec
from aex_runtime.service import Backends, assemble
from aex_runtime.settings import blaming
from aex_verification.api import routes
from aex_verification.clients import HttpAwards, HttpGovernance
from aex_verification.deps import Deps
from aex_verification.judge import JOB, MAX_RESULT_BYTES, WARM, ConfinedJudge
from aex_verification.rules.policy import Policy
from aex_verification.sandbox_desk import SELF_TEST, SandboxDesk
from aex_verification.settings import Settings
from aex_verification.subscriptions import subscriptions, timers
from aex_verification.trials import CHECK_REFERENCE, DRY_RUN, ConfinedTrials
from aex_verification.turnstile import Turnstile
from aex_verification.under_way import UnderWay
from aex_verification.waits import Waits

SERVICE = "verification"
CUSTOM_OF_ONE, CUSTOM_OF_ALL = 3, 6
"""Handlers that wait for custom code at once, of one consumer and in all: fewer than handle events, and fewer than fire
timers, so that contracts without any go on whatever custom code does."""


def create_app(settings: Settings | None = None, backends: Backends | None = None) -> FastAPI:
    """The application. Raises `BadConfiguration` for an outcome configuration that cannot be used."""
    chosen = settings or Settings()
    catalog = _catalog(chosen)
    config = catalog.config
    parts = assemble(SERVICE, chosen, backends)
    pool = _pool(chosen)
    limits = config.sections()["custom"].sandbox
    sandbox = SandboxDesk(
        partial(_sandbox_pool, chosen, limits.memory_limit_mb) if chosen.sandbox_workers else None, parts.backends.ids
    )
    confined = (pool, sandbox, config.as_json(), chosen.verify_timeout_s, limits.timeout_ms)
    client = httpx.AsyncClient(timeout=chosen.governance_timeout_s)
    deps = Deps(
        unit_of_work=parts.unit_of_work,
        store=parts.backends.store,
        blobs=parts.backends.blobs,
        clock=parts.backends.clock,
        ids=parts.backends.ids,
        judge=ConfinedJudge(*confined),
        trials=ConfinedTrials(*confined),
        custom_places=Turnstile(CUSTOM_OF_ONE, CUSTOM_OF_ALL),
        governance=HttpGovernance(client, chosen.governance_url, parts.service_tokens),
        awards=HttpAwards(client, chosen.work_publisher_url, parts.service_tokens),
        waits=Waits(chosen.max_waits),
        under_way=UnderWay(),
        policy=Policy(
            max_system_retries=chosen.max_system_retries, governance_check=config.verification.governance_check
        ),
        catalog=catalog,
    )
    return build_app(
        parts,
        routes(deps),
        subscriptions=subscriptions(deps),
        timers=timers(deps),
        resources=[lambda: pool, lambda: sandbox, lambda: client],
        dispensable={"sandbox": lambda: sandbox.missing},
        gauges=[GaugeSpec("aex_sandbox_up", "Whether custom metrics are served: 1 or 0", _up(sandbox))],
    )


def _pool(chosen: Settings) -> WorkerPool:
    return WorkerPool(
        chosen.workers,
        chosen.verify_timeout_s,
        chosen.worker_memory_mb,
        jobs=[JOB, CHECK_REFERENCE],
        warm=WARM,
        max_result_bytes=MAX_RESULT_BYTES,
    )


def _sandbox_pool(chosen: Settings, code_mb: int) -> WorkerPool:
    """Workers that may start the interpreter of custom code, with room for it. No spare one: few works need them."""
    return WorkerPool(
        chosen.sandbox_workers,
        chosen.verify_timeout_s,
        max(chosen.worker_memory_mb, code_mb + MEMORY_MB),
        jobs=[JOB, DRY_RUN, SELF_TEST],
        warm=WARM,
        spares=0,
        max_result_bytes=MAX_RESULT_BYTES,
        children=True,
    )


def _up(sandbox: SandboxDesk) -> Callable[[], Awaitable[float]]:
    async def up() -> float:
        return float(sandbox.missing is None)

    return up


def _catalog(chosen: Settings) -> Catalog:
    with blaming("AEX_OUTCOME_CONFIG", InvalidConfig):
        catalog = Catalog.load(chosen.outcome_config)
        if problems := list(_switched_off(catalog.config.verification, chosen)):
            raise InvalidConfig([(f"{chosen.outcome_config}: verification.{name}", why) for name, why in problems])
    return catalog


def _switched_off(config: VerificationConfig, chosen: Settings) -> Iterator[tuple[str, str]]:
    """The switches that are off and may not be, each with why and what to do."""
    if not config.store_outcomes:
        yield (
            "store_outcomes",
            "false is for verdicts without a contract, which `aex verify` and POST /v1/verify give and never store; "
            "contracts are paid by their stored outcomes: remove the line",
        )
    cloud = chosen.cloud_backends()
    if not config.governance_check and cloud:
        yield (
            "governance_check",
            "false is for the embedded backends alone: where others rely on outcomes, none is final unchecked; "
            f"remove the line, or unset {', '.join(cloud)}",
        )
