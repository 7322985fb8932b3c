"""The connection to Firestore, or to its emulator."""

import asyncio
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import google.auth
from google.auth.exceptions import GoogleAuthError
from google.cloud.firestore_v1.services.firestore.transports import FirestoreGrpcAsyncIOTransport
from google.cloud.firestore_v1.types import (
    BatchGetDocumentsRequest,
    BatchGetDocumentsResponse,
    CommitRequest,
    CommitResponse,
    RunQueryRequest,
    RunQueryResponse,
)
from grpc.aio import Channel, Metadata, UnaryStreamMultiCallable, UnaryUnaryMultiCallable, insecure_channel

from aex_runtime.store.firestore_wire import Database
from aex_runtime.store.port import StoreUnavailable

_HOST = "firestore.googleapis.com:443"
_SERVICE = "/google.firestore.v1.Firestore"
_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # Soon at work again after an outage.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # A peer that went silent is noticed; Google's client asks as often.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.ping_timeout_ms", 5_000),  # what really ends the wait (measured: 35 s in all instead of 88)
    # Its own connection, closed with it, and not one that all stores of the process share.
    ("grpc.use_local_subchannel_pool", 1),
)


@dataclass(frozen=True, slots=True)
class Connection:
    """The calls that the store makes."""

    channel: Channel
    metadata: Metadata
    batch_get: UnaryStreamMultiCallable[Any, Any]
    run_query: UnaryStreamMultiCallable[Any, Any]
    commit: UnaryUnaryMultiCallable[Any, Any]


async def connect(database: Database, emulator: str | None) -> Connection:
    """A connection that belongs to the running loop; it is made by its first call. Raises `StoreUnavailable`."""
    # Two parameters, for all calls: production has refused a named database as the one path that Google's client sends.
    routing = f"project_id={quote(database.project, safe='')}&database_id={quote(database.name, safe='')}"
    metadata = [("google-cloud-resource-prefix", database.path), ("x-goog-request-params", routing)]
    if emulator is None:
        channel = await _to_google()
    else:
        channel = insecure_channel(emulator, options=_OPTIONS)
        metadata.append(("authorization", "Bearer owner"))  # the emulator's word for: whoever may do everything
    return Connection(
        channel,
        Metadata(*metadata),
        channel.unary_stream(
            f"{_SERVICE}/BatchGetDocuments", *_codec(BatchGetDocumentsRequest, BatchGetDocumentsResponse)
        ),
        channel.unary_stream(f"{_SERVICE}/RunQuery", *_codec(RunQueryRequest, RunQueryResponse)),
        channel.unary_unary(f"{_SERVICE}/Commit", *_codec(CommitRequest, CommitResponse)),
    )


async def _to_google() -> Channel:
    scopes = FirestoreGrpcAsyncIOTransport.AUTH_SCOPES
    try:  # reads files and may ask the metadata server
        credentials, _ = await asyncio.to_thread(google.auth.default, scopes=scopes)
    except GoogleAuthError as error:
        raise StoreUnavailable(
            "Firestore: no credentials: run as a service account, or `gcloud auth application-default login`"
        ) from error
    return FirestoreGrpcAsyncIOTransport.create_channel(_HOST, credentials=credentials, options=_OPTIONS)


def _codec(request: Any, response: Any) -> tuple[Any, Any]:
    return request.pb().SerializeToString, response.pb().FromString
