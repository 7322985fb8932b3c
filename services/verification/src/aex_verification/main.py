"""The verification service, composed: the only place where its backends are chosen."""

from pathlib import Path

import httpx
from fastapi import FastAPI

from aex_outcomes.catalog import Catalog
from aex_outcomes.config import InvalidConfig
from aex_outcomes.confinement.pool import WorkerPool
from aex_runtime.http.app import build_app
from aex_runtime.service import Backends, assemble
from aex_runtime.settings import blaming
from aex_verification.api import routes
from aex_verification.clients import HttpAwards, HttpGovernance
from aex_verification.deps import Deps
from aex_verification.judge import JOB, MAX_RESULT_BYTES, WARM, ConfinedJudge
from aex_verification.rules.policy import Policy
from aex_verification.settings import Settings
from aex_verification.subscriptions import subscriptions, timers
from aex_verification.under_way import UnderWay
from aex_verification.waits import Waits

SERVICE = "verification"


def create_app(settings: Settings | None = None, backends: Backends | None = None) -> FastAPI:
    """The application. Raises `BadConfiguration` for an outcome configuration that cannot be used."""
    chosen = settings or Settings()
    catalog = _catalog(chosen.outcome_config)
    config = catalog.config
    parts = assemble(SERVICE, chosen, backends)
    pool = WorkerPool(
        chosen.workers,
        chosen.verify_timeout_s,
        chosen.worker_memory_mb,
        jobs=[JOB],
        warm=WARM,
        max_result_bytes=MAX_RESULT_BYTES,
    )
    client = httpx.AsyncClient(timeout=chosen.governance_timeout_s)
    deps = Deps(
        unit_of_work=parts.unit_of_work,
        store=parts.backends.store,
        blobs=parts.backends.blobs,
        clock=parts.backends.clock,
        ids=parts.backends.ids,
        judge=ConfinedJudge(pool, config.as_json()),
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
        resources=[lambda: pool, lambda: client],
    )


def _catalog(path: Path | None) -> Catalog:
    with blaming("AEX_OUTCOME_CONFIG", InvalidConfig):
        catalog = Catalog.load(path)
        if not catalog.config.verification.store_outcomes:
            problem = "a service stores every outcome; remove the line"
            raise InvalidConfig([(f"{path}: verification.store_outcomes", problem)])
    return catalog
