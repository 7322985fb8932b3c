"""A small site on the kit: one page, one form, and routes that fail in each way."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
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
from aex_runtime.http.routing import QueryNames
from aex_runtime.identity.principals import Principal
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.pages.errors import page_router
from aex_runtime.pages.forms import read_form
from aex_runtime.pages.responses import redirect_to, render_page
from aex_runtime.pages.sessions import AllowSession
from aex_runtime.pages.sign_in import not_found_page_route, site_routes
from aex_runtime.pages.site import NavigationLink, Site, build_site
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
    """Started site with a browser's client and the saved texts."""

    client: httpx.AsyncClient
    site: Site
    clock: SetClock
    issuer: LocalIssuer
    saved: list[str]

    def token(self, role: str = "finance", sub: str = "ada") -> str:
        return self.issuer.mint(sub, role)

    async def sign_in(self, token: str | None = None, target: str = "/notes", **headers: str) -> httpx.Response:
        form = await self.client.get("/notes/sign-in", params={"next": target})
        fields = {"csrf": csrf_in(form.text), "token": token or self.token(), "next": target}
        return await self.post("/notes/sign-in", fields, **headers)

    async def post(self, path: str, fields: Mapping[str, str], **headers: str) -> httpx.Response:
        return await self.client.post(path, data=dict(fields), headers={"Origin": ORIGIN, **headers})


def csrf_in(html: str) -> str:
    found = _CSRF.search(html)
    assert found is not None, html
    return found[1]


def built_site(data_dir: Path) -> Visited:
    clock = SetClock(NOON)
    parts = assemble("work-publisher", RuntimeSettings(data_dir=data_dir), memory_backends(clock))
    site = build_site(
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
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN, follow_redirects=False)
    return Visited(client, site, clock, parts.local_issuer, saved)


def _routes(site: Site, saved: list[str]) -> APIRouter:
    router = page_router()
    router.routes += site_routes(site, QueryNames("text")).routes
    guard, finance = AllowSession(site), Depends(AllowSession(site, Audience.FINANCE))

    @router.get("/notes")
    async def note(request: Request, reader: Annotated[Principal, Depends(guard)], text: str = "") -> Response:
        return render_page(site, request, "note.html", heading=f"{reader.id} {text}")

    @router.post("/notes/save", dependencies=[finance])
    async def save(form: Annotated[Mapping[str, str], Depends(read_form)]) -> Response:
        saved.append(form["text"])
        return redirect_to("/notes")

    @router.get("/notes/fails/{how}", dependencies=[Depends(guard)])
    async def fails(how: str, _count: Annotated[int, Query(alias="count")] = 0) -> Response:
        raise _FAILURES[how]

    router.routes += not_found_page_route(site).routes
    return router


_WRONG = Problem(path="query/from", code="invalid_day", message="from must be a day <b>such as</b> 2025-01-31")
_FAILURES: Mapping[str, Exception] = {
    "bad": InvalidRequest("invalid", "that is wrong", [_WRONG]),
    "missing": NotFound("no_such_note", "there is no such note"),
    "often": RateLimited("too_many", "too many at once", retry_after_s=7),
    "store": StoreUnavailable("secret address of the store"),
    "bug": RuntimeError("secret of a bug"),
}
