import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from google.cloud.firestore_v1 import types

Failure = tuple[grpc.StatusCode, str]


class Peer:
    def __init__(self) -> None:
        self.host = ""
        self.failures: list[Failure] = []
        self.calls: Counter[str] = Counter()
        self.headers: list[dict[str, str | bytes]] = []
        self.arrived = asyncio.Event()
        self.held = asyncio.Event()
        self.held.set()

    async def batch_get(self, request: Any, context: Any) -> AsyncIterator[Any]:
        await self._arrive("BatchGetDocuments", context)
        for name in request.documents:
            yield types.BatchGetDocumentsResponse.pb()(missing=name)

    async def run_query(self, _: Any, context: Any) -> AsyncIterator[Any]:
        await self._arrive("RunQuery", context)
        yield types.RunQueryResponse.pb()()

    async def commit(self, request: Any, context: Any) -> Any:
        await self._arrive("Commit", context)
        return types.CommitResponse.pb()(write_results=[{} for _ in request.writes])

    async def _arrive(self, call: str, context: Any) -> None:
        self.calls[call] += 1
        self.headers.append(dict(context.invocation_metadata()))
        self.arrived.set()
        await self.held.wait()
        if self.failures:
            await context.abort(*self.failures.pop(0))


@asynccontextmanager
async def listening() -> AsyncIterator[Peer]:
    peer, server = Peer(), grpc.aio.server()
    stream, unary = grpc.unary_stream_rpc_method_handler, grpc.unary_unary_rpc_method_handler
    handlers = {
        name: make(method, *_codec(name))
        for name, make, method in (
            ("BatchGetDocuments", stream, peer.batch_get),
            ("RunQuery", stream, peer.run_query),
            ("Commit", unary, peer.commit),
        )
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("google.firestore.v1.Firestore", handlers),))
    peer.host = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield peer
    finally:
        peer.held.set()
        await server.stop(None)


def _codec(name: str) -> tuple[Any, Any]:
    request, response = getattr(types, f"{name}Request"), getattr(types, f"{name}Response")
    return request.pb().FromString, response.pb().SerializeToString
