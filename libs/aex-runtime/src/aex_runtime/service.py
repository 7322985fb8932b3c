"""What a service is made of: its backends, and the parts that stand on them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version

from opentelemetry.trace import TracerProvider

from aex_runtime.background import Background, Piece
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.blobs.port import Blobs
from aex_runtime.bus.factory import open_bus
from aex_runtime.bus.port import Bus
from aex_runtime.clock import Clock, WallClock
from aex_runtime.data_dir import free_bytes, open_data_dir
from aex_runtime.handlers import EventHandler, TimerHandler
from aex_runtime.http.metrics import GaugeSpec, Metrics
from aex_runtime.http.readiness import Probe
from aex_runtime.identity.factory import open_service_tokens, trusted_issuers
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.local_key import given_key, local_key
from aex_runtime.identity.service_tokens import ServiceTokens
from aex_runtime.identity.verifier import TokenVerifier
from aex_runtime.ids import Ids, RandomIds
from aex_runtime.settings import RuntimeSettings, blaming
from aex_runtime.store.factory import open_store
from aex_runtime.store.port import Store
from aex_runtime.store.spill import SpillingStore
from aex_runtime.tracing.factory import open_tracers
from aex_runtime.tracing.messages import MessageSpans, carrier_of
from aex_runtime.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True)
class Backends:
    """The ports of a service, each with its adapter."""

    store: Store
    bus: Bus
    blobs: Blobs
    clock: Clock
    ids: Ids


def open_backends(settings: RuntimeSettings, service: str) -> Backends:
    """The backends that the settings name. Nothing is touched before its first use. Raises `BadConfiguration`."""
    with blaming("AEX_BLOBS_URL", ValueError):
        blobs = open_blobs(settings.blobs_url_of(), settings.storage_emulator_host)
    with blaming("AEX_STORE_URL", ValueError):
        records = open_store(settings.store_url_of(service), settings.firestore_emulator_host)
    with blaming("AEX_BUS_URL", ValueError):
        bus = open_bus(settings.bus_url_of(), settings.pubsub_emulator_host)
    return Backends(SpillingStore(records, blobs), bus, blobs, WallClock(), RandomIds())


@dataclass(frozen=True, slots=True)
class ServiceParts:
    """Everything that a service's `main.py` builds its `Deps` and its application from."""

    name: str
    settings: RuntimeSettings
    backends: Backends
    unit_of_work: UnitOfWork
    verifier: TokenVerifier
    service_tokens: ServiceTokens
    local_issuer: LocalIssuer
    cursor_key: bytes = field(repr=False)
    metrics: Metrics
    work: Background
    """The outbox pump, the leases, the dead letters, and what runs behind the requests."""
    owns_backends: bool
    tracers: TracerProvider | None = None
    """What records spans; None: trace context is carried on, unrecorded."""
    close_tracers: Callable[[], None] | None = None
    """Exports what waits. Blocks, for seconds at most. None where `assemble` opened none."""
    version: str = field(default_factory=lambda: version("aex-runtime"))

    def probes(self) -> dict[str, Probe]:
        """What `/readyz` asks."""
        return {"store": self.backends.store.ping, "bus": self.backends.bus.ping, "blobs": self.backends.blobs.ping}

    def gauges(self) -> Sequence[GaugeSpec]:
        """What `/metrics` reads of the parts."""
        if not self.settings.uses_data_dir():
            return self.work.gauges()
        free = partial(free_bytes, self.settings.data_dir)
        return (*self.work.gauges(), GaugeSpec("aex_data_dir_free_bytes", "Room on the data directory's disk", free))

    def background(
        self,
        subscriptions: Mapping[str, EventHandler],
        timers: Mapping[str, TimerHandler],
        pieces: Mapping[str, Piece] | None = None,
    ) -> AbstractAsyncContextManager[None]:
        """Consumer, outbox pump, timers and the service's own pieces, running while it is entered."""
        return self.work.running(subscriptions, timers, pieces)

    async def close(self) -> None:
        """Let go of what `assemble` opened."""
        if self.owns_backends:
            await self.backends.bus.close()
            await self.backends.store.close()
        if self.close_tracers is not None:
            await asyncio.to_thread(self.close_tracers)


def assemble(
    service: str,
    settings: RuntimeSettings,
    backends: Backends | None = None,
    tracers: TracerProvider | None = None,
) -> ServiceParts:
    """The parts of a service. Makes the data directory and its key where they are missing and needed.

    `tracers` record its spans in the place of those that the settings name.
    Raises `UnknownLayout` and `UnsafeKey` for a directory that cannot be used, `BadConfiguration` for a URL that names
    nothing.
    """
    if settings.uses_data_dir():
        open_data_dir(settings.data_dir)
    key = given_key(settings.key_file) if settings.key_file else local_key(settings.data_dir)
    ports = backends or open_backends(settings, service)
    metrics = Metrics(service)
    opened = open_tracers(settings, service) if tracers is None else None
    recording = opened.provider if opened else tracers
    spans = MessageSpans(service, recording, carrier_of(settings.bus_url_of()))
    work = Background(service, ports.store, ports.bus, ports.clock, ports.ids, settings.instance, metrics, spans)
    issuer = LocalIssuer(key, ports.clock, ports.ids)
    issuers = trusted_issuers(settings, key, ports.clock)
    return ServiceParts(
        name=service,
        settings=settings,
        backends=ports,
        unit_of_work=UnitOfWork(service, ports.store, ports.clock, work.committed, metrics),
        verifier=TokenVerifier(issuers, service, ports.clock),
        service_tokens=open_service_tokens(settings, service, issuer, ports.clock, ports.ids),
        local_issuer=issuer,
        cursor_key=key.secret_for("page cursors"),
        metrics=metrics,
        work=work,
        owns_backends=backends is None,
        tracers=recording,
        close_tracers=opened.close if opened else None,
    )
