"""The four applications, built but not started, and the routes that they have."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts

import aex_governance.main
import aex_governance.settings
import aex_settlement.main
import aex_settlement.settings
import aex_verification.main
import aex_verification.settings
import aex_work_publisher.main
import aex_work_publisher.settings
from aex_models.audiences import Audience
from aex_runtime.http.auth import Allow
from aex_runtime.http.routing import find_dependency
from aex_runtime.service import Backends
from tests.security.matrix import Route

Make = Callable[[Path, Backends | None], FastAPI]
MAKERS: Mapping[str, Make] = {
    "work-publisher": lambda path, backends: aex_work_publisher.main.create_app(
        aex_work_publisher.settings.Settings(data_dir=path), backends
    ),
    "verification": lambda path, backends: aex_verification.main.create_app(
        aex_verification.settings.Settings(data_dir=path), backends
    ),
    "governance": lambda path, backends: aex_governance.main.create_app(
        aex_governance.settings.Settings(data_dir=path), backends
    ),
    "settlement": lambda path, backends: aex_settlement.main.create_app(
        aex_settlement.settings.Settings(data_dir=path), backends
    ),
}
"""Each application, on a data directory; on its own backends where none are given."""


def guards_of(service: str, app: FastAPI) -> Iterator[tuple[Route, frozenset[Audience] | None]]:
    """Each route with the roles of its `Allow`; None for one without. HEAD is GET without a body."""
    for context in iter_route_contexts(app.routes):
        original = context.original_route
        allow = find_dependency(original, Allow) if isinstance(original, APIRoute) else None
        for method in sorted(set(context.methods or ()) - {"HEAD"}):
            yield Route(service, method, str(context.path)), allow.roles if allow else None


def all_guards(data_dir: Path) -> dict[Route, frozenset[Audience] | None]:
    return {
        route: roles for service, make in MAKERS.items() for route, roles in guards_of(service, make(data_dir, None))
    }
