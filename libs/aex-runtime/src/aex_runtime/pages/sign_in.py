"""Signing in with a bearer token, signing out, and the files that pages load."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from aex_runtime.errors import DomainError, Forbidden, InvalidRequest, NotFound, Unauthenticated
from aex_runtime.http.auth import admit
from aex_runtime.pages.answers import render_page, see
from aex_runtime.pages.forms import posted_form
from aex_runtime.pages.guards import AllowSession, OpenPage, open_session
from aex_runtime.pages.routing import page_router
from aex_runtime.pages.sessions import (
    Session,
    csrf_token,
    end_session,
    end_visit,
    keep_session,
    keep_visit,
    visit_cookie,
)
from aex_runtime.pages.site import Site
from aex_runtime.pages.targets import safe_target, with_query

Form = Annotated[Mapping[str, str], Depends(posted_form)]
_FOREVER = "public, max-age=31536000, immutable"
_ENDED = "Your session has ended. Sign in again to go on."


def site_routes(site: Site) -> APIRouter:
    """Sign-in, sign-out and static files of a site. A service adds its own pages."""
    router = page_router()
    _sign_in_routes(router, site)
    _sign_out_route(router, site)

    @router.get(
        f"{site.prefix}/static/{{digest}}/{{name:path}}", dependencies=[Depends(OpenPage(site, "files hold no data"))]
    )
    async def static(digest: str, name: str) -> Response:
        asset = site.assets.find(digest, name)
        if asset is None:
            raise NotFound("no_such_file", "there is no such file")
        return Response(asset.content, media_type=asset.media_type, headers={"Cache-Control": _FOREVER})

    @router.get(f"{site.prefix}/", dependencies=[Depends(AllowSession(site))])
    async def first_page(request: Request) -> Response:
        return see(with_query(site.prefix, request))

    return router


def missing_page_route(site: Site) -> APIRouter:
    """Whatever else is asked for below the prefix: declared last, a page that says so."""
    router = page_router()

    @router.get(f"{site.prefix}/{{rest:path}}", dependencies=[Depends(AllowSession(site))])
    async def missing() -> Response:
        raise NotFound("no_such_page", "there is no such page")

    return router


def _sign_in_routes(router: APIRouter, site: Site) -> None:
    @router.get(site.sign_in_path, dependencies=[Depends(OpenPage(site, "sign-in"))])
    async def sign_in_page(request: Request) -> Response:
        target = safe_target(site, request.query_params.get("next"))
        try:
            session = await open_session(site, request)
        except Unauthenticated:
            return _form(site, request, target, notice=_ENDED if "ended" in request.query_params else None)
        return see(target) if session.principal.role in site.roles else _form(site, request, target)

    @router.post(site.sign_in_path, dependencies=[Depends(OpenPage(site, "sign-in"))])
    async def sign_in(request: Request, form: Form) -> Response:
        target = safe_target(site, form.get("next"))
        try:
            session = await _admitted(site, request, form.get("token", "").strip())
            response: Response = see(target)
            keep_session(site, request, response, session)
        except (Unauthenticated, Forbidden, InvalidRequest) as refused:
            return _form(site, request, target, refused=refused)
        end_visit(site, request, response)
        return response


def _sign_out_route(router: APIRouter, site: Site) -> None:
    @router.post(site.sign_out_path, dependencies=[Depends(AllowSession(site))])
    async def sign_out(request: Request) -> Response:
        response = see(site.sign_in_path)
        end_session(site, request, response)
        return response


async def _admitted(site: Site, request: Request, token: str) -> Session:
    if not token:
        raise InvalidRequest("missing_token", "paste a token first")
    principal = await site.verifier.verify(token)
    admit(request, principal)
    if principal.role not in site.roles:
        known = ", ".join(sorted(site.roles))
        raise Forbidden("forbidden_role", f"the token's role is {principal.role.value}; these pages are for {known}")
    return Session(principal, token)


def _form(
    site: Site, request: Request, target: str, *, notice: str | None = None, refused: DomainError | None = None
) -> Response:
    """The form, for a visitor that is remembered from here on. What was typed is never sent back."""
    visit = request.cookies.get(visit_cookie(site)) or site.ids.salt()
    status = 200 if refused is None else (403 if isinstance(refused, Forbidden) else 400)
    response = render_page(
        site,
        request,
        "sign_in.html",
        status=status,
        csrf=csrf_token(site, "visit", visit),
        target=target,
        notice=notice,
        error=None if refused is None else refused.message,
    )
    keep_visit(site, request, response, visit)
    return response
