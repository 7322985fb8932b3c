"""Idempotency keys: a request that is repeated with its key has no second effect.

A key is recorded in the transaction of its effect.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache, partial
from typing import Annotated

import structlog
from fastapi import Depends, Header, Request

from aex_models.canonical import sha256_hex
from aex_models.frozen import Frozen, Instant
from aex_models.work import Problem
from aex_runtime.clock import Clock, epoch_micros
from aex_runtime.errors import Conflict, InvalidRequest, Unprocessable
from aex_runtime.http.auth import authenticate
from aex_runtime.http.body import body_digest
from aex_runtime.ids import Ids
from aex_runtime.leases import LeaderElection, Lease, Leases
from aex_runtime.logs import describe_failure
from aex_runtime.store.port import AlreadyExists, Bound, Collection, Index, Scalar, Store, StoreUnavailable, Transaction
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Unit, UnitOfWork

MAX_KEY_LENGTH = 255
_KEY = re.compile(r"[!-~]([ -~]*[!-~])?")
"""Printable ASCII only: clients and proxies encode other characters of a header in different ways."""
RETENTION = timedelta(days=33)
_ATTEMPTS = 3
_PURGE_INTERVAL = timedelta(hours=1)
_PURGE_BATCH = 100
_log = structlog.get_logger(__name__)


class IdempotencyRecord(Frozen):
    """The use of a key: the request's digest, and the resource that it created or changed.

    No response is stored. A repeated request gets the present state of the resource.
    """

    route: str
    request_digest: str
    resource_id: str
    created_at: Instant
    expires_at: Instant


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A write request and its idempotency key, None if it has none."""

    scope: str
    """Principal and route. The same key in another scope is another key."""
    key: str | None
    body_digest: str
    """SHA-256 of the body as canonical JSON."""
    in_flight: set[str] = field(default_factory=set, repr=False, compare=False)
    """Record keys of the requests that this process is handling now."""

    @property
    def record_key(self) -> str:
        """Key of the record: a digest of scope and key."""
        return sha256_hex(f"{self.scope}\x1f{self.key}".encode())


@dataclass(frozen=True, slots=True)
class Effect:
    """The result of a write. `is_replay`: an earlier request with the key has made it."""

    resource_id: str
    is_replay: bool

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the response: `Idempotent-Replayed: true` for a replay, else none."""
        return {"Idempotent-Replayed": "true"} if self.is_replay else {}


_HEADER = Header(
    alias="Idempotency-Key",
    description="Makes the request safe to repeat: at most 255 characters, kept for 32 days.",
    json_schema_extra={"minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": f"^{_KEY.pattern}$"},
)


async def idempotent_request(
    request: Request, idempotency_key: Annotated[str | None, _HEADER] = None
) -> IdempotentRequest:
    """Return the request with its optional idempotency key; a dependency of write routes.

    Raises `InvalidRequest` for a malformed key, and as `authenticate` does.
    """
    principal = await authenticate(request)
    scope = "\x1f".join(
        (principal.role.value, principal.id, principal.org or "", request.method, request.scope["path"])
    )
    if idempotency_key is None:
        return IdempotentRequest(scope, None, "")
    if len(idempotency_key) > MAX_KEY_LENGTH or _KEY.fullmatch(idempotency_key) is None:
        code, message = "invalid_idempotency_key", "Idempotency-Key takes 1 to 255 printable ASCII characters"
        raise InvalidRequest(code, message, [Problem(path="header/Idempotency-Key", code=code, message=message)])
    return IdempotentRequest(scope, idempotency_key, await body_digest(request), request.app.state.in_flight)


async def _require_key(request: Annotated[IdempotentRequest, Depends(idempotent_request)]) -> IdempotentRequest:
    if request.key is None:
        message = "this request moves money: send an Idempotency-Key of your own, and the same one when you repeat it"
        problem = Problem(path="header/Idempotency-Key", code="idempotency_key_required", message=message)
        raise InvalidRequest(problem.code, message, [problem])
    return request


async def require_idempotency_key(
    request: Annotated[IdempotentRequest, Depends(_require_key)], _: Annotated[str, _HEADER]
) -> IdempotentRequest:
    """Return the request with its idempotency key; a dependency of routes that move money.

    Raises `InvalidRequest` if there is no key. OpenAPI documents the header as required. The check runs first, so that
    FastAPI's own error for a missing header does not appear.
    """
    return request


@lru_cache(maxsize=16)
def idempotency_table(service: str) -> Table[IdempotencyRecord]:
    """Return the table of a service's idempotency keys."""
    collection = Collection(f"{service}-idempotency", (Index(order="expires_at"),), expires="expires_at")
    return Table(collection, IdempotencyRecord, lambda record: {"expires_at": epoch_micros(record.expires_at)})


def save_idempotency_key(unit: Unit, service: str, request: IdempotentRequest, resource_id: str) -> None:
    """Record the key and the resource in the unit's transaction.

    If another request has recorded the key, the commit raises `AlreadyExists`.
    """
    record = IdempotencyRecord(
        route=request.scope.rpartition("\x1f")[2],
        request_digest=request.body_digest,
        resource_id=resource_id,
        created_at=unit.now,
        expires_at=unit.now + RETENTION,
    )
    unit.create(idempotency_table(service), request.record_key, record)


async def run_idempotent(uow: UnitOfWork, request: IdempotentRequest, fn: Callable[[Unit], Awaitable[str]]) -> Effect:
    """Run `fn` in a unit of work once per key; for a repeated request return the earlier result.

    `fn` returns the id of the resource. Without a key it runs each time. Raises `Conflict` while a request with this
    key is in progress, `Unprocessable` if the key was used with another body, and what `fn` raises. A failed run is not
    recorded.
    """
    if request.key is None:
        return Effect(await uow.run(fn), is_replay=False)
    table, key = idempotency_table(uow.service), request.record_key

    async def attempt(unit: Unit) -> Effect:
        stored = await unit.get(table, key)
        if stored is None:
            resource_id = await fn(unit)
            save_idempotency_key(unit, uow.service, request, resource_id)
            return Effect(resource_id, is_replay=False)
        if stored.record.request_digest != request.body_digest:
            message = "this Idempotency-Key was used with another body; use a new key"
            raise Unprocessable("idempotency_key_reused", message)
        return Effect(stored.record.resource_id, is_replay=True)

    if key in request.in_flight:
        raise _in_flight()
    request.in_flight.add(key)
    try:
        for _ in range(_ATTEMPTS):  # another process may commit the key between read and commit: replay its record
            try:
                return await uow.run(attempt)
            except AlreadyExists as error:
                if (error.collection, error.key) != (table.collection.name, key):
                    raise
    finally:
        request.in_flight.discard(key)
    raise _in_flight()


def _in_flight() -> Conflict:
    message = "a request with this key is in progress; retry after 1 s"
    return Conflict("idempotency_in_flight", message, retry_after_s=1)


class IdempotencyPurge:
    """Deletes expired keys every hour, in one process at a time.

    An expired key that is still stored is honoured.
    """

    def __init__(self, service: str, store: Store, clock: Clock, ids: Ids, leases: Leases) -> None:
        self._table, self._store, self._clock = idempotency_table(service), store, clock
        self._election = LeaderElection(leases, clock, ids, "idempotency-purge", timedelta(minutes=1))

    async def run(self) -> None:
        """Purge every hour until cancelled."""
        await self._election.run(self._purge_hourly)

    async def purge(self) -> int:
        """Delete the expired records and return their number. Raises `StoreUnavailable`."""
        expired = (Bound("<=", epoch_micros(self._clock.now())),)
        after: tuple[Scalar, str] | None = None
        removed = 0
        while True:
            found = await self._table.find(
                self._store, order="expires_at", bounds=expired, after=after, limit=_PURGE_BATCH
            )
            await self._store.transact(partial(self._delete, [stored.document.key for stored in found]))
            removed += len(found)
            if len(found) < _PURGE_BATCH:
                return removed
            # Continue after the last one: a store may walk over what was just deleted.
            after = found[-1].document.fields["expires_at"], found[-1].document.key

    async def _delete(self, keys: list[str], transaction: Transaction) -> None:
        for key in keys:
            transaction.delete(self._table.collection, key)

    async def _purge_hourly(self, _: Lease) -> None:
        while True:
            try:
                removed = await self.purge()
            except StoreUnavailable as error:
                _log.warning("idempotency_not_purged", reason=describe_failure(error))
            else:
                _log.debug("idempotency_purged", removed=removed)
            await asyncio.sleep(_PURGE_INTERVAL.total_seconds())
