"""Agents' artifacts."""

from functools import partial

from fastapi import APIRouter

from aex_runtime.artifacts.routes import artifact_routes
from aex_runtime.http.auth import Allow
from aex_verification.deps import Deps
from aex_verification.handlers.artifacts import readable_size, uploads_of


def artifacts_of_agents(deps: Deps) -> APIRouter:
    """`/artifacts`: agents upload; they read their own, and consumers what came with the outputs they may read."""
    readers = Allow("agent", "consumer")
    return artifact_routes(uploads_of(deps), Allow("agent"), readers, partial(readable_size, deps))
