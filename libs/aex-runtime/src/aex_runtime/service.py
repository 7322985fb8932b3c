"""The parts of a service, assembled from its settings and backends."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version

from opentelemetry.trace import TracerProvider

from aex_runtime.background import Background
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.blobs.port import Blobs
from aex_runtime.bus.dataref import EventData
from aex_runtime.bus.factory import open_bus
from aex_runtime.bus.port import Bus
from aex_runtime.clock import Clock, WallClock
from aex_runtime.files import ensure_data_dir, rounded_free_bytes
from aex_runtime.http.health import Probe
from aex_runtime.http.metrics import GaugeSpec, Metrics
from aex_runtime.identity.local_key import load_key_file, load_or_create_key
from aex_runtime.identity.tokens import LocalIssuer, ServiceTokens, open_service_tokens, trusted_issuers
from aex_runtime.identity.verifier import TokenVerifier
from aex_runtime.ids import Ids, RandomIds
from aex_runtime.quotas import StorageBounds
from aex_runtime.settings import RuntimeSettings, as_bad_configuration
from aex_runtime.store.factory import open_store
from aex_runtime.store.port import Store
from aex_runtime.store.spill import SpillingStore
from aex_runtime.tracing.exporters import open_tracers
from aex_runtime.tracing.spans import OWN_QUEUE, PUBSUB, MessageSpans
from aex_runtime.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True)
class Backends:
    """The implementations of the ports that a service uses."""

    store: Store
    bus: Bus
    blobs: Blobs
    clock: Clock
    ids: Ids
    event_blobs: Blobs | None = None
    """Blob store for the data of large events; None: `blobs`."""

    @property
    def event_data(self) -> EventData:
        """Access to the data of large events."""
        return EventData(self.event_blobs or self.blobs)


def open_backends(settings: RuntimeSettings, service: str) -> Backends:
    """Create the backends that the settings name; they connect at first use.

    Raises `BadConfiguration`.
    """
    with as_bad_configuration("AEX_BLOBS_URL", ValueError):
        blobs = open_blobs(settings.effective_blobs_url(), settings.storage_emulator_host)
    event_blobs = None
    if settings.event_data_url is not None:
        with as_bad_configuration("AEX_EVENT_DATA_URL", ValueError):
            event_blobs = open_blobs(settings.event_data_url, settings.storage_emulator_host)
    with as_bad_configuration("AEX_STORE_URL", ValueError):
        records = open_store(settings.effective_store_url(service), settings.firestore_emulator_host)
    with as_bad_configuration("AEX_BUS_URL", ValueError):
        bus = open_bus(settings.effective_bus_url(), settings.pubsub_emulator_host)
    return Backends(SpillingStore(records, blobs), bus, blobs, WallClock(), RandomIds(), event_blobs)


@dataclass(frozen=True, slots=True)
class ServiceParts:
    """The parts from which a service's `main.py` builds its `Deps` and its application."""

    name: str
    settings: RuntimeSettings
    backends: Backends
    unit_of_work: UnitOfWork
    verifier: TokenVerifier
    service_tokens: ServiceTokens
    local_issuer: LocalIssuer
    cursor_key: bytes = field(repr=False)
    metrics: Metrics
    background: Background
    owns_backends: bool
    """True if `close` closes the backends."""
    tracers: TracerProvider | None = None
    """Provider that records spans; None: trace context is only passed on."""
    close_tracers: Callable[[], None] | None = None
    """Function that exports the waiting spans and blocks for seconds at most; None if `assemble` opened no tracers."""
    version: str = field(default_factory=lambda: version("aex-runtime"))

    def probes(self) -> dict[str, Probe]:
        """Return the readiness probes of store, bus and blob store."""
        return {"store": self.backends.store.ping, "bus": self.backends.bus.ping, "blobs": self.backends.blobs.ping}

    def gauges(self) -> Sequence[GaugeSpec]:
        """Return the gauges of background tasks and, if it is used, of the data directory's disk."""
        gauges = self.background.gauges()
        if not self.settings.uses_data_dir():
            return gauges
        free = partial(rounded_free_bytes, self.settings.data_dir)
        about = "Free bytes on the data directory's disk, in whole 100 MB"
        return (*gauges, GaugeSpec("aex_data_dir_free_bytes", about, free))

    def storage_bounds(self) -> StorageBounds:
        """Return the storage limits that the settings set for new content."""
        settings = self.settings
        data_dir = settings.data_dir if settings.stores_in_data_dir() else None
        return StorageBounds(settings.quota_bytes, data_dir, settings.min_free_bytes)

    async def close(self) -> None:
        """Close the backends and tracers that `assemble` opened."""
        if self.owns_backends:
            await self.backends.bus.close()
            await self.backends.store.close()
        if self.close_tracers is not None:
            await asyncio.to_thread(self.close_tracers)


def assemble(
    service: str, settings: RuntimeSettings, backends: Backends | None = None, tracers: TracerProvider | None = None
) -> ServiceParts:
    """Build the parts of a service; create the data directory and the signing key if missing.

    `backends` and `tracers` replace those of the settings, and remain open at `close`. Raises `UnknownLayout` and
    `UnsafeKey` for an unusable directory, `BadConfiguration` for an unusable URL.
    """
    if settings.uses_data_dir():
        ensure_data_dir(settings.data_dir)
    key = load_key_file(settings.key_file) if settings.key_file else load_or_create_key(settings.data_dir)
    ports = backends or open_backends(settings, service)
    metrics = Metrics(service)
    opened_tracers = open_tracers(settings, service) if tracers is None else None
    provider = opened_tracers or tracers
    spans = MessageSpans(service, provider, PUBSUB if settings.effective_bus_url().startswith("pubsub:") else OWN_QUEUE)
    event_data = ports.event_data
    work = Background(
        service, ports.store, ports.bus, ports.clock, ports.ids, settings.instance, metrics, spans, event_data
    )
    issuer = LocalIssuer(key, ports.clock, ports.ids)
    issuers = trusted_issuers(settings, key, ports.clock)
    return ServiceParts(
        name=service,
        settings=settings,
        backends=ports,
        unit_of_work=UnitOfWork(service, ports.store, ports.clock, work.on_commit, metrics, event_data),
        verifier=TokenVerifier(issuers, service, ports.clock),
        service_tokens=open_service_tokens(settings, service, issuer, ports.clock, ports.ids),
        local_issuer=issuer,
        cursor_key=key.derive_secret("page cursors"),
        metrics=metrics,
        background=work,
        owns_backends=backends is None,
        tracers=provider,
        close_tracers=opened_tracers.shutdown if opened_tracers else None,
    )
