"""A small site on the kit: one page, one form, and routes that fail in each way."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import httpx
from fastapi import APIRouter, Depends, Query, Request, Response

from aex_models.audiences import Audience
from aex_models.work import Problem
from aex_runtime.clock import SetClock
from aex_runtime.errors import InvalidRequest, NotFound, RateLimited
from aex_runtime.http.app import build_app
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.principal import Principal
from aex_runtime.pages.answers import render_page, see
from aex_runtime.pages.forms import posted_form
from aex_runtime.pages.guards import AllowSession
from aex_runtime.pages.routing import page_router
from aex_runtime.pages.sign_in import missing_page_route, site_routes
from aex_runtime.pages.site import NavigationLink, Site, site_for
from aex_runtime.service import assemble
from aex_runtime.settings import RuntimeSettings
from aex_runtime.store.port import StoreUnavailable
from tests.libs.runtime.http.sample import memory_backends

ORIGIN = "http://notes.example"
_CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')
NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
_READERS = (Audience.FINANCE, Audience.CONSUMER)


@dataclass
class Visited:
    """The site, a browser's client, and what was saved."""

    client: httpx.AsyncClient
    site: Site
    clock: SetClock
    issuer: LocalIssuer
    saved: list[str] = field(default_factory=list)

    def token(self, role: str = "finance", sub: str = "ada") -> str:
        """A token for the site's service."""
        return self.issuer.mint(sub, role)

    async def sign_in(self, token: str | None = None, target: str = "/notes", **headers: str) -> httpx.Response:
        """Fill in the form of the sign-in page."""
        form = await self.client.get("/notes/sign-in", params={"next": target})
        fields = {"csrf": csrf_in(form.text), "token": token or self.token(), "next": target}
        return await self.post("/notes/sign-in", fields, **headers)

    async def post(self, path: str, fields: Mapping[str, str], **headers: str) -> httpx.Response:
        """A form as a browser sends it, less or with what the test says."""
        return await self.client.post(path, data=dict(fields), headers={"Origin": ORIGIN, **headers})


def csrf_in(html: str) -> str:
    """The token of the page's form."""
    found = _CSRF.search(html)
    assert found is not None, html
    return found[1]


@asynccontextmanager
async def visited(data_dir: Path) -> AsyncIterator[Visited]:
    """The site, just started, and a browser that knows nothing of it."""
    clock = SetClock(NOON)
    parts = assemble("work-publisher", RuntimeSettings(data_dir=data_dir), memory_backends(clock))
    site = site_for(
        parts,
        title="Notes",
        prefix="/notes",
        package="tests.libs.runtime.pages.sample_pages",
        roles=_READERS,
        navigation=(
            NavigationLink("Yours", "/notes/of/{role}:{id}", frozenset({Audience.CONSUMER})),
            NavigationLink("All", "/notes", frozenset({Audience.FINANCE})),
        ),
    )
    saved: list[str] = []
    app = build_app(parts, _routes(site, saved))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, follow_redirects=False) as client:
        yield Visited(client, site, clock, parts.local_issuer, saved)


def _routes(site: Site, saved: list[str]) -> APIRouter:
    router = page_router()
    router.routes += site_routes(site).routes
    guard, finance = AllowSession(site), Depends(AllowSession(site, Audience.FINANCE))

    @router.get("/notes")
    async def note(request: Request, reader: Annotated[Principal, Depends(guard)], text: str = "") -> Response:
        return render_page(site, request, "note.html", heading=f"{reader.id} {text}")

    @router.post("/notes/save", dependencies=[finance])
    async def save(form: Annotated[Mapping[str, str], Depends(posted_form)]) -> Response:
        saved.append(form["text"])
        return see("/notes")

    @router.get("/notes/fails/{how}", dependencies=[Depends(guard)])
    async def fails(how: str, _count: Annotated[int, Query(alias="count")] = 0) -> Response:
        raise _FAILURES[how]

    router.routes += missing_page_route(site).routes
    return router


_WRONG = Problem(path="query/from", code="invalid_day", message="from must be a day <b>such as</b> 2025-01-31")
_FAILURES: Mapping[str, Exception] = {
    "bad": InvalidRequest("invalid", "that is wrong", [_WRONG]),
    "missing": NotFound("no_such_note", "there is no such note"),
    "often": RateLimited("too_many", "too many at once", retry_after_s=7),
    "store": StoreUnavailable("secret address of the store"),
    "bug": RuntimeError("secret of a bug"),
}
