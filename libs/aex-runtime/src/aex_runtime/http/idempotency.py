"""Idempotency keys: the effect and the record of its key are one transaction, so a key has one effect."""

import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Annotated

from fastapi import Header, Request

from aex_models.canonical import sha256_hex
from aex_models.frozen import Frozen, Instant
from aex_runtime.clock import epoch_micros
from aex_runtime.errors import Conflict, InvalidRequest, Unprocessable
from aex_runtime.http.auth import authenticate
from aex_runtime.http.body import body_digest
from aex_runtime.store.port import AlreadyExists, Collection, Index
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Unit, UnitOfWork

MAX_KEY_LENGTH = 255
_KEY = re.compile(r"[!-~]([ -~]*[!-~])?")
"""ASCII, as header values are: of what else is in them, clients and proxies make different bytes."""
KEPT = timedelta(days=33)
_TRIES = 3


class IdempotencyRecord(Frozen):
    """What a key was used for. The answer is not kept: a repeat is rendered anew from the resource."""

    route: str
    request_digest: str
    resource_id: str
    created_at: Instant
    expires_at: Instant


class InFlight:
    """The keys that this process is working on: one for each request under way at most, and so for each connection."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        """Hold a key. Raises `Conflict` where a request with it is under way."""
        if key in self._keys:
            raise Conflict("idempotency_in_flight", "a request with this key is under way", retry_after_s=1)
        self._keys.add(key)
        try:
            yield
        finally:
            self._keys.discard(key)


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A write request and its key. `scope` is the principal and the route; `body_digest` is over canonical JSON."""

    scope: str
    key: str | None
    body_digest: str
    in_flight: InFlight = field(default_factory=InFlight, repr=False, compare=False)

    @property
    def record_key(self) -> str:
        """The key of the record: equal for equal scope and key alone."""
        return sha256_hex(f"{self.scope}\x1f{self.key}".encode())


@dataclass(frozen=True, slots=True)
class Effect:
    """What a write did, now or before."""

    resource_id: str
    replayed: bool

    @property
    def headers(self) -> dict[str, str]:
        """`Idempotent-Replayed: true` for a repeat."""
        return {"Idempotent-Replayed": "true"} if self.replayed else {}


async def idempotent_request(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            description="Makes the request safe to repeat: at most 255 characters, kept for 32 days.",
            json_schema_extra={"minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": f"^{_KEY.pattern}$"},
        ),
    ] = None,
) -> IdempotentRequest:
    """The dependency of every write route. Raises `InvalidRequest` for an unusable key."""
    principal = await authenticate(request)
    scope = "\x1f".join(
        (principal.role.value, principal.id, principal.org or "", request.method, request.scope["path"])
    )
    if idempotency_key is None:
        return IdempotentRequest(scope, None, "")
    if len(idempotency_key) > MAX_KEY_LENGTH or _KEY.fullmatch(idempotency_key) is None:
        raise InvalidRequest("invalid_idempotency_key", "Idempotency-Key takes 1 to 255 printable ASCII characters")
    return IdempotentRequest(scope, idempotency_key, await body_digest(request), request.app.state.in_flight)


@lru_cache(maxsize=16)
def idempotency_table(service: str) -> Table[IdempotencyRecord]:
    """The keys that a service has seen."""
    collection = Collection(f"{service}-idempotency", (Index(order="expires_at"),), expires="expires_at")
    return Table(collection, IdempotencyRecord, lambda record: {"expires_at": epoch_micros(record.expires_at)})


async def replayed(unit: Unit, service: str, request: IdempotentRequest) -> str | None:
    """The resource of an earlier equal request, or None. Read it before any write of the unit.

    Raises `Unprocessable` where the key came with another body.
    """
    if request.key is None:
        return None
    stored = await unit.get(idempotency_table(service), request.record_key)
    if stored is None:
        return None
    if stored.record.request_digest != request.body_digest:
        raise Unprocessable("idempotency_key_reused", "this Idempotency-Key came with another body before")
    return stored.record.resource_id


def remember(unit: Unit, service: str, request: IdempotentRequest, resource_id: str) -> None:
    """Record the key with its effect. Whoever commits second meets `AlreadyExists`; `run_idempotent` handles it."""
    if request.key is None:
        return
    record = IdempotencyRecord(
        route=request.scope.rpartition("\x1f")[2],
        request_digest=request.body_digest,
        resource_id=resource_id,
        created_at=unit.now,
        expires_at=unit.now + KEPT,
    )
    unit.create(idempotency_table(service), request.record_key, record)


async def run_idempotent(uow: UnitOfWork, request: IdempotentRequest, fn: Callable[[Unit], Awaitable[str]]) -> Effect:
    """Run `fn` (reads, writes, events, timers; returns the resource's id) once for each key. No key: just run it.

    Raises `Conflict` while a request with this key is under way here, `Unprocessable` for another body, and what
    `fn` raises; a failure is not recorded.
    """

    async def attempt(unit: Unit) -> Effect:
        earlier = await replayed(unit, uow.service, request)
        if earlier is not None:
            return Effect(earlier, replayed=True)
        resource_id = await fn(unit)
        remember(unit, uow.service, request, resource_id)
        return Effect(resource_id, replayed=False)

    if request.key is None:
        return await uow.run(attempt)
    with request.in_flight.hold(request.record_key):
        return await _run_until_settled(uow, request, attempt)


async def _run_until_settled(
    uow: UnitOfWork, request: IdempotentRequest, attempt: Callable[[Unit], Awaitable[Effect]]
) -> Effect:
    """Another process may win between the read and the commit: the loser reads its record and replays."""
    table = idempotency_table(uow.service)
    for _ in range(_TRIES):
        try:
            return await uow.run(attempt)
        except AlreadyExists as error:
            if (error.collection, error.key) != (table.collection.name, request.record_key):
                raise
    raise Conflict("idempotency_in_flight", "a request with this key is under way", retry_after_s=1)
