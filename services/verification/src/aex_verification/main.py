"""Composition of the verification service. No other module chooses its storage and event backends."""

import time
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fastapi import FastAPI
from opentelemetry.trace import TracerProvider

from aex_outcomes.catalog import Catalog
from aex_outcomes.config import OutcomeConfig
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.lifecycle import registry
from aex_outcomes.science.confined import ConfinedExaminer, DataLimits
from aex_runtime.calls.http_client import LazyHttpClient, create_http_client
from aex_runtime.http.app import Resource, build_app
from aex_runtime.http.metrics import GaugeSpec
from aex_runtime.service import Backends, ServiceParts, assemble
from aex_verification.api import routes
from aex_verification.deps import Deps
from aex_verification.grading import ConfinedGrader
from aex_verification.http_clients import CircuitBreaker, HttpAwards, HttpGovernance
from aex_verification.judges.factory import build_reviewer
from aex_verification.limits import EventSubscribers, InFlightAttempts
from aex_verification.measures import MEASURES, ExtractionTimes
from aex_verification.notifier import Notifier
from aex_verification.pools import (
    OnDemandPool,
    PrewarmedPool,
    make_candidate_pool,
    make_sandbox_pool,
    make_science_pool,
    make_verifier_pool,
)
from aex_verification.rules.records import Policy, compute_verification_lease
from aex_verification.sandbox_pool import SandboxPool
from aex_verification.settings import Settings, load_catalog, load_verifiers
from aex_verification.slow_jobs import SlowJobs
from aex_verification.spool import Spool
from aex_verification.subscriptions import subscriptions, timers
from aex_verification.verifiers import ConfinedVerifiers

if TYPE_CHECKING:
    from aex_verification.judges.model_reviewer import ModelReviewer

SERVICE = "verification"


class _Resources(NamedTuple):
    """Resources that are entered and left with the service, in the order of the fields."""

    candidates: PrewarmedPool
    operators: WorkerPool | None
    sandbox: SandboxPool
    science: OnDemandPool
    spool: Spool
    reviewer: "ModelReviewer | None"
    client: LazyHttpClient


def create_app(
    settings: Settings | None = None, backends: Backends | None = None, tracers: TracerProvider | None = None
) -> FastAPI:
    """Return the service's application; it sends its trace spans to `tracers`.

    `backends` are used where given. Otherwise the application opens those of the settings when it starts. Raises
    `BadConfiguration` for an invalid outcome configuration.
    """
    settings = settings or Settings()
    catalog = load_catalog(settings)
    registered = load_verifiers(settings, catalog.config)
    parts = assemble(SERVICE, settings, backends, tracers)
    resources = _make_resources(settings, parts, catalog, registered)
    times = ExtractionTimes(parts.metrics, catalog.extractors)
    deps = _make_deps(settings, parts, catalog, registered, resources, times)
    return build_app(
        parts,
        routes(deps),
        subscriptions=subscriptions(deps),
        timers=timers(deps),
        tasks={"slow-jobs": deps.slow_jobs.run},
        resources=[_constant_resource(each) for each in resources if each is not None],
        required_parts={"workers": lambda: resources.candidates.missing},
        optional_parts={"sandbox": lambda: resources.sandbox.missing},
        gauges=[
            GaugeSpec(
                "aex_sandbox_up",
                "1 if custom metrics are computed here, else 0",
                resources.sandbox.read_availability_gauge,
            ),
            GaugeSpec("aex_event_streams", "Streams of contract events that are open", deps.subscribers.count),
        ],
        measures=(*MEASURES, times.seconds),
    )


def _constant_resource(entered: AbstractAsyncContextManager[object]) -> Resource:
    return lambda: entered


def _make_resources(
    settings: Settings, parts: ServiceParts, catalog: Catalog, registered: registry.VerifierRegistry
) -> _Resources:
    sections, ids = catalog.config.extractor_sections(), parts.backends.ids
    new_sandbox = partial(make_sandbox_pool, settings, sections["custom"].sandbox, sections["tests"].sandbox)
    return _Resources(
        candidates=PrewarmedPool(make_candidate_pool(settings)),
        operators=make_verifier_pool(settings, registered),
        sandbox=SandboxPool(new_sandbox if settings.sandbox_workers else None, ids),
        science=make_science_pool(settings, sections["statistics"].sandbox),
        spool=Spool(parts.backends.blobs, settings.spool_dir),
        reviewer=build_reviewer(settings, ids),
        client=LazyHttpClient(partial(create_http_client, settings.governance_timeout_s)),
    )


def _make_deps(
    settings: Settings,
    parts: ServiceParts,
    catalog: Catalog,
    registered: registry.VerifierRegistry,
    resources: _Resources,
    times: ExtractionTimes,
) -> Deps:
    backends, sections, config_json = parts.backends, catalog.config.extractor_sections(), catalog.config.as_json()
    grader = ConfinedGrader(resources.candidates, resources.sandbox, catalog, settings.verify_timeout_s, times)
    breaker = CircuitBreaker(settings.governance_timeout_s, time.monotonic)
    client, tokens = resources.client, parts.service_tokens
    timeouts_ms = {name: each.timeout_ms for name, each in registered.by_name.items()}
    return Deps(
        unit_of_work=parts.unit_of_work,
        store=backends.store,
        blobs=backends.blobs,
        clock=backends.clock,
        ids=backends.ids,
        grader=grader,
        examiner=ConfinedExaminer(resources.science, DataLimits.from_worker_bounds(sections["statistics"].sandbox)),
        spool=resources.spool,
        reviewer=resources.reviewer,
        verifiers=ConfinedVerifiers(resources.operators, timeouts_ms, config_json),
        trials=grader,
        slow_jobs=SlowJobs(),
        governance=HttpGovernance(client, settings.governance_url, tokens, breaker, parts.metrics),
        awards=HttpAwards(client, settings.work_publisher_url, tokens),
        notifier=Notifier(settings.max_waits),
        in_flight=InFlightAttempts(),
        policy=_make_policy(settings, catalog.config),
        catalog=catalog,
        subscribers=EventSubscribers(settings.stream_bounds()),
        bounds=parts.storage_bounds(),
    )


def _make_policy(settings: Settings, config: OutcomeConfig) -> Policy:
    review_s = settings.review_timeout_s * settings.review_attempts if settings.review_model else 0
    reading = timedelta(milliseconds=config.extractor_sections()["statistics"].sandbox.timeout_ms)
    return Policy(
        max_system_retries=settings.max_system_retries,
        verification_lease=compute_verification_lease(reading, timedelta(seconds=review_s)),
        governance_check=config.verification.governance_check,
        store_outcomes=config.verification.store_outcomes,
    )
