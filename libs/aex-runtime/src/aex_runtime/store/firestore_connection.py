"""The connection to Firestore or its emulator, with deadlines, retried reads and translated errors."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import quote

import google.auth
from google.auth.exceptions import GoogleAuthError
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.services.firestore.transports import FirestoreGrpcAsyncIOTransport
from grpc import StatusCode
from grpc.aio import AioRpcError, Channel, Metadata, UnaryStreamMultiCallable, UnaryUnaryMultiCallable, insecure_channel

from aex_models.backoff import Backoff
from aex_runtime.ids import RandomIds
from aex_runtime.retry import Retries
from aex_runtime.store.firestore_messages import FirestoreDatabase
from aex_runtime.store.port import StoreError, StoreUnavailable

_HOST = "firestore.googleapis.com:443"
_SERVICE = "/google.firestore.v1.Firestore"
_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # Reconnect soon after an outage.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # Notice a dead peer, as often as Google's client does.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.ping_timeout_ms", 5_000),  # ends the wait (measured: 35 s in all instead of 88)
    # A connection for each store, closed with it.
    ("grpc.use_local_subchannel_pool", 1),
)


@dataclass(frozen=True, slots=True)
class Connection:
    """An open channel to Firestore, and the remote calls that the store makes over it."""

    channel: Channel
    metadata: Metadata
    reads: dict[str, UnaryStreamMultiCallable[Any, Any]]
    commit: UnaryUnaryMultiCallable[Any, Any]


async def connect(database: FirestoreDatabase, emulator: str | None) -> Connection:
    """Create a connection for the running event loop; the network is used from its first call on.

    `emulator` is the `host:port` of an emulator, or None for Google's server. Raises `StoreUnavailable` if there are no
    credentials.
    """
    # Two parameters, for all calls: production has refused a named database as the single path of Google's client.
    routing = f"project_id={quote(database.project, safe='')}&database_id={quote(database.name, safe='')}"
    metadata = [("google-cloud-resource-prefix", database.path), ("x-goog-request-params", routing)]
    if emulator is None:
        channel = await _to_google()
    else:
        channel = insecure_channel(emulator, options=_OPTIONS)
        metadata.append(("authorization", "Bearer owner"))  # all permissions on the emulator
    reads = {
        "BatchGetDocuments": (types.BatchGetDocumentsRequest, types.BatchGetDocumentsResponse),
        "RunQuery": (types.RunQueryRequest, types.RunQueryResponse),
    }
    return Connection(
        channel,
        Metadata(*metadata),
        {name: channel.unary_stream(f"{_SERVICE}/{name}", *_codec(*each)) for name, each in reads.items()},
        channel.unary_unary(f"{_SERVICE}/Commit", *_codec(types.CommitRequest, types.CommitResponse)),
    )


async def _to_google() -> Channel:
    scopes = FirestoreGrpcAsyncIOTransport.AUTH_SCOPES
    try:  # reads files and may call the metadata server
        credentials, _ = await asyncio.to_thread(google.auth.default, scopes=scopes)
    except GoogleAuthError as error:
        raise StoreUnavailable(
            "Firestore: no credentials: run as a service account, or `gcloud auth application-default login`"
        ) from error
    return FirestoreGrpcAsyncIOTransport.create_channel(_HOST, credentials=credentials, options=_OPTIONS)


def _codec(request: Any, response: Any) -> tuple[Any, Any]:
    return request.pb().SerializeToString, response.pb().FromString


_WORTH_RETRYING = frozenset({StatusCode.UNAVAILABLE, StatusCode.INTERNAL, StatusCode.ABORTED})
_CONDITION_FAILED = frozenset({StatusCode.ALREADY_EXISTS, StatusCode.FAILED_PRECONDITION, StatusCode.NOT_FOUND})
"""Status codes of a commit whose conditions do not hold. They can have other causes too."""
_UNAVAILABLE = frozenset(
    {
        StatusCode.ABORTED,
        StatusCode.CANCELLED,  # by the other side: our own cancellation is no status
        StatusCode.DEADLINE_EXCEEDED,
        StatusCode.INTERNAL,
        StatusCode.RESOURCE_EXHAUSTED,
        StatusCode.UNAVAILABLE,
        StatusCode.UNKNOWN,
    }
)
# Outages too, which an operator must end. Work waits for them, so that no event becomes a dead letter.
_FIXES = {
    StatusCode.FAILED_PRECONDITION: (
        "an index is missing or being built (deploy/firestore.indexes.json), or it is no Native database"
    ),
    StatusCode.NOT_FOUND: "the database does not exist: create it, or correct the store's URL",
    StatusCode.PERMISSION_DENIED: "give the account of this process the role roles/datastore.user",
    StatusCode.UNAUTHENTICATED: "give this process credentials of a service account",
}


def translate_error(call: str, database: FirestoreDatabase, error: AioRpcError) -> StoreError:
    """Return the store's error for a failed call. `call` is its name, such as `Commit`.

    Raise the result `from None`, because the original error may quote a document. For the same reason Firestore's text
    about an invalid argument is omitted.
    """
    code = error.code()
    where = f"Firestore {database.path}: {call}: {code.name}"
    if code in _FIXES:
        return StoreUnavailable(f"{where}: {_FIXES[code]}: {error.details()}")
    if code in _UNAVAILABLE:
        return StoreUnavailable(f"{where}: {error.details()}")
    return StoreError(where)


_READ_TRIES = 3
_RETRY = Backoff(first=timedelta(milliseconds=100), cap=timedelta(milliseconds=400))
R = TypeVar("R")


class FirestoreApi:
    """The calls to one database. The first call opens the connection, in its event loop."""

    def __init__(self, database: FirestoreDatabase, emulator: str | None, deadline_s: float) -> None:
        self._database = database
        self._emulator = emulator
        self._deadline_s = deadline_s
        self._connecting = asyncio.Lock()
        self._connection: Connection | None = None
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    async def batch_get_with_retries(
        self, request: Any, deadline_s: float | None = None, tries: int = _READ_TRIES
    ) -> list[Any]:
        """Send a `BatchGetDocuments` request and return its responses.

        A temporary failure is retried until `tries` or `deadline_s` is reached. Raises `StoreUnavailable`,
        `StoreError`.
        """
        return await self._read("BatchGetDocuments", request, deadline_s or self._deadline_s, tries)

    async def run_query_with_retries(self, request: Any) -> list[Any]:
        """Send a `RunQuery` request and return its responses.

        A temporary failure is retried, up to three tries and within the deadline. Raises `StoreUnavailable`,
        `StoreError`.
        """
        return await self._read("RunQuery", request, self._deadline_s, _READ_TRIES)

    async def commit(self, request: Any, *, conditional: bool) -> bool:
        """Send a `Commit` request once; return False if a conflict or a condition prevented it.

        `conditional` says whether the request has conditions. Raises `StoreUnavailable` without an answer; then
        everything may have been written, so it is not retried. Raises `StoreError` for an invalid request.
        """

        async def send(connection: Connection) -> bool:
            await connection.commit(request, timeout=self._deadline_s, metadata=connection.metadata)
            return True

        try:
            return await self._call(send, self._deadline_s)
        except AioRpcError as error:
            if error.code() is StatusCode.ABORTED or (conditional and error.code() in _CONDITION_FAILED):
                return False
            raise translate_error("Commit", self._database, error) from None

    async def close(self) -> None:
        """Refuse new calls, wait for the running ones until their deadlines, and close the connection.

        Closing the channel during a call would cancel the task that waits for it.
        """
        self._closed = True
        await self._idle.wait()
        if self._connection is not None:
            await self._connection.channel.close()

    async def _read(self, name: str, request: Any, deadline_s: float, tries: int) -> list[Any]:
        monotonic = asyncio.get_running_loop().time
        end = monotonic() + deadline_s

        async def read(connection: Connection) -> list[Any]:
            timeout_s = max(0.0, end - monotonic())
            responses = connection.reads[name](request, timeout=timeout_s, metadata=connection.metadata)
            return [response async for response in responses]

        def retry_reason(error: Exception) -> str | None:
            code = error.code() if isinstance(error, AioRpcError) else None
            return code.name if code in _WORTH_RETRYING else None

        retries = Retries(_RETRY, RandomIds())
        try:
            return await retries.call_with_retries(
                "store.read_retried",
                lambda: self._call(read, end - monotonic()),
                retry_reason,
                tries=tries,
                end_s=end,
                call=name,
            )
        except AioRpcError as error:
            raise translate_error(name, self._database, error) from None

    async def _call(self, rpc: Callable[[Connection], Awaitable[R]], deadline_s: float) -> R:
        if self._closed:
            raise StoreUnavailable(f"Firestore {self._database.path}: closed")
        self._running += 1
        self._idle.clear()
        try:
            return await rpc(self._connection or await self._connect(deadline_s))
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _connect(self, deadline_s: float) -> Connection:
        try:
            async with asyncio.timeout(deadline_s), self._connecting:
                if self._connection is None:
                    self._connection = await connect(self._database, self._emulator)
                return self._connection
        except TimeoutError:
            raise StoreUnavailable(f"Firestore {self._database.path}: no credentials before the deadline") from None
