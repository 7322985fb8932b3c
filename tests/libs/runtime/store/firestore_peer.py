"""A gRPC server in the place of Firestore, which fails as it is told to and counts what it is asked."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from google.cloud.firestore_v1.types import (
    BatchGetDocumentsRequest,
    BatchGetDocumentsResponse,
    CommitRequest,
    CommitResponse,
    RunQueryRequest,
    RunQueryResponse,
)

Failure = tuple[grpc.StatusCode, str]


class Peer:
    """Answers as an empty database would, unless `failures` of the call are left; `held` keeps answers back."""

    def __init__(self) -> None:
        self.host = ""
        self.failures: list[Failure] = []
        self.asked: Counter[str] = Counter()
        self.headers: list[dict[str, str | bytes]] = []
        self.arrived = asyncio.Event()
        self.held = asyncio.Event()
        self.held.set()

    async def batch_get(self, request: Any, context: Any) -> AsyncIterator[Any]:
        await self._arrive("BatchGetDocuments", context)
        for name in request.documents:
            yield BatchGetDocumentsResponse.pb()(missing=name)

    async def run_query(self, _: Any, context: Any) -> AsyncIterator[Any]:
        await self._arrive("RunQuery", context)
        yield RunQueryResponse.pb()()

    async def commit(self, request: Any, context: Any) -> Any:
        await self._arrive("Commit", context)
        return CommitResponse.pb()(write_results=[{} for _ in request.writes])

    async def _arrive(self, call: str, context: Any) -> None:
        self.asked[call] += 1
        self.headers.append(dict(context.invocation_metadata()))
        self.arrived.set()
        await self.held.wait()
        if self.failures:
            await context.abort(*self.failures.pop(0))


@asynccontextmanager
async def listening() -> AsyncIterator[Peer]:
    """A peer that listens."""
    peer, server = Peer(), grpc.aio.server()
    handlers = {
        "BatchGetDocuments": grpc.unary_stream_rpc_method_handler(
            peer.batch_get,
            BatchGetDocumentsRequest.pb().FromString,
            BatchGetDocumentsResponse.pb().SerializeToString,
        ),
        "RunQuery": grpc.unary_stream_rpc_method_handler(
            peer.run_query, RunQueryRequest.pb().FromString, RunQueryResponse.pb().SerializeToString
        ),
        "Commit": grpc.unary_unary_rpc_method_handler(
            peer.commit, CommitRequest.pb().FromString, CommitResponse.pb().SerializeToString
        ),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("google.firestore.v1.Firestore", handlers),))
    peer.host = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield peer
    finally:
        peer.held.set()
        await server.stop(None)
