"""Routes of every site: sign-in, sign-out, static files and the page of unknown paths."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from aex_runtime.errors import DomainError, Forbidden, InvalidRequest, NotFound, Unauthenticated
from aex_runtime.http.auth import Principal, admit
from aex_runtime.http.routing import QueryNames
from aex_runtime.pages.errors import page_router
from aex_runtime.pages.forms import read_form
from aex_runtime.pages.responses import path_with_query, redirect_to, render_page, safe_target
from aex_runtime.pages.sessions import (
    VISITOR_LIFETIME_S,
    AllowSession,
    PublicPage,
    Session,
    csrf_token,
    open_session,
    session_cookie,
    set_cookie,
    set_session,
    visitor_cookie,
)
from aex_runtime.pages.site import Site

Form = Annotated[Mapping[str, str], Depends(read_form)]
_IMMUTABLE = "public, max-age=31536000, immutable"
_SESSION_ENDED = "Your session has ended. Sign in to continue."


def site_routes(site: Site, first_page: QueryNames) -> APIRouter:
    """Return the routes of sign-in, sign-out, static files and the first page; a service adds its own.

    `first_page` names the query parameters of the page at the prefix.
    """
    router = page_router()
    _sign_in_routes(router, site)
    public = Depends(PublicPage(site, "files hold no data"))

    @router.post(site.sign_out_path, dependencies=[Depends(AllowSession(site))])
    async def sign_out(request: Request) -> Response:
        response = redirect_to(site.sign_in_path)
        set_cookie(site, request, response, session_cookie(site))
        return response

    @router.get(f"{site.prefix}/static/{{digest}}/{{name:path}}", dependencies=[public])
    async def static(digest: str, name: str) -> Response:
        asset = site.assets.find(digest, name)
        if asset is None:
            raise NotFound("no_such_file", "there is no such file")
        return Response(asset.content, media_type=asset.media_type, headers={"Cache-Control": _IMMUTABLE})

    @router.get(f"{site.prefix}/", dependencies=[Depends(AllowSession(site)), Depends(first_page)])
    async def redirect_to_first_page(request: Request) -> Response:
        return redirect_to(path_with_query(site.prefix, request))

    return router


class AllowNoPage(AllowSession):
    """Guard of unknown paths: a caller with a session learns that there is no page, whatever the query."""

    async def __call__(self, request: Request) -> Principal:
        """Raise `NotFound`, and as `AllowSession` does."""
        await super().__call__(request)
        raise NotFound("no_such_page", "there is no such page")


def missing_page_route(site: Site) -> APIRouter:
    """Return the route of unknown paths below the prefix; it is declared last."""
    router = page_router()

    @router.get(f"{site.prefix}/{{rest:path}}", dependencies=[Depends(AllowNoPage(site))])
    async def missing() -> None:
        """Document the path: the guard never admits a caller."""

    return router


def _sign_in_routes(router: APIRouter, site: Site) -> None:
    query = Depends(QueryNames("next", "ended"))

    @router.get(site.sign_in_path, dependencies=[Depends(PublicPage(site, "sign-in")), query])
    async def sign_in_page(request: Request) -> Response:
        target = safe_target(site, request.query_params.get("next"))
        try:
            session = await open_session(site, request)
        except Unauthenticated:
            return _render(site, request, target, notice=_SESSION_ENDED if "ended" in request.query_params else None)
        return redirect_to(target) if session.principal.role in site.roles else _render(site, request, target)

    @router.post(site.sign_in_path, dependencies=[Depends(PublicPage(site, "sign-in"))])
    async def sign_in(request: Request, form: Form) -> Response:
        target = safe_target(site, form.get("next"))
        try:
            session = await _verify_token(site, request, form.get("token", "").strip())
            response: Response = redirect_to(target)
            set_session(site, request, response, session)
        except (Unauthenticated, Forbidden, InvalidRequest) as error:
            return _render(site, request, target, error=error)
        set_cookie(site, request, response, visitor_cookie(site))
        return response


async def _verify_token(site: Site, request: Request, token: str) -> Session:
    if not token:
        raise InvalidRequest("missing_token", "paste a token first")
    principal = await site.verifier.verify(token)
    admit(request, principal)
    if principal.role not in site.roles:
        known = ", ".join(sorted(site.roles))
        raise Forbidden("forbidden_role", f"the token's role is {principal.role.value}; these pages are for {known}")
    return Session(principal, token)


def _render(
    site: Site, request: Request, target: str, *, notice: str | None = None, error: DomainError | None = None
) -> Response:
    """Return the form and set the visitor's cookie. The typed token is never sent back."""
    visitor = request.cookies.get(visitor_cookie(site)) or site.ids.salt()
    status = 200 if error is None else (403 if isinstance(error, Forbidden) else 400)
    response = render_page(
        site,
        request,
        "sign_in.html",
        status=status,
        csrf=csrf_token(site, "visit", visitor),
        target=target,
        notice=notice,
        error=None if error is None else error.message,
    )
    set_cookie(site, request, response, visitor_cookie(site), visitor, VISITOR_LIFETIME_S)
    return response
