"""Routes of every site: sign-in, sign-out, static files, and the page for unknown paths."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from aex_runtime.errors import DomainError, Forbidden, InvalidRequest, NotFound, Unauthenticated
from aex_runtime.http.auth import Principal, enforce_rate_limit
from aex_runtime.http.routing import QueryNames
from aex_runtime.pages.errors import page_router
from aex_runtime.pages.forms import read_form
from aex_runtime.pages.responses import path_with_query, redirect_to, render_page, target_within_site
from aex_runtime.pages.sessions import (
    VISITOR_LIFETIME_S,
    AllowSession,
    PublicPage,
    Session,
    authenticate_session_within_rate_limit,
    csrf_token,
    session_cookie_name,
    set_or_remove_cookie,
    set_session_cookie,
    visitor_cookie_name,
)
from aex_runtime.pages.site import Site

Form = Annotated[Mapping[str, str], Depends(read_form)]
_IMMUTABLE = "public, max-age=31536000, immutable"
_SESSION_ENDED = "Your session has ended. Sign in to continue."


def site_routes(site: Site, first_page_query: QueryNames) -> APIRouter:
    """Return the routes of sign-in, sign-out and static files, and a redirect from `{prefix}/`.

    The service adds its own pages. `first_page_query` names the query parameters of the page at the prefix.
    """
    router = page_router()
    _sign_in_routes(router, site)
    public = Depends(PublicPage(site, "files hold no data"))

    @router.post(site.sign_out_path, dependencies=[Depends(AllowSession(site))])
    async def sign_out(request: Request) -> Response:
        response = redirect_to(site.sign_in_path)
        set_or_remove_cookie(site, request, response, session_cookie_name(site))
        return response

    @router.get(f"{site.prefix}/static/{{digest}}/{{name:path}}", dependencies=[public])
    async def static(digest: str, name: str) -> Response:
        asset = site.assets.find(digest, name)
        if asset is None:
            raise NotFound("no_such_file", "there is no such file")
        return Response(asset.content, media_type=asset.media_type, headers={"Cache-Control": _IMMUTABLE})

    @router.get(f"{site.prefix}/", dependencies=[Depends(AllowSession(site)), Depends(first_page_query)])
    async def redirect_to_first_page(request: Request) -> Response:
        return redirect_to(path_with_query(site.prefix, request))

    return router


class AllowNoPage(AllowSession):
    """A guard of unknown paths, which admits no caller.

    A caller with a session gets 404 for any query; others get the sign-in page.
    """

    async def __call__(self, request: Request) -> Principal:
        """Raise `NotFound` for a caller with a session; for any other caller raise as `AllowSession` does."""
        await super().__call__(request)
        raise NotFound("no_such_page", "there is no such page")


def not_found_page_route(site: Site) -> APIRouter:
    """Return the route of all unknown paths below the prefix. Declare it last."""
    router = page_router()

    @router.get(f"{site.prefix}/{{rest:path}}", dependencies=[Depends(AllowNoPage(site))])
    async def missing() -> None:
        """Document the path: the guard never admits a caller."""

    return router


def _sign_in_routes(router: APIRouter, site: Site) -> None:
    query = Depends(QueryNames("next", "ended"))

    @router.get(site.sign_in_path, dependencies=[Depends(PublicPage(site, "sign-in")), query])
    async def sign_in_page(request: Request) -> Response:
        target = target_within_site(site, request.query_params.get("next"))
        try:
            session = await authenticate_session_within_rate_limit(site, request)
        except Unauthenticated:
            return _render(site, request, target, notice=_SESSION_ENDED if "ended" in request.query_params else None)
        return redirect_to(target) if session.principal.role in site.roles else _render(site, request, target)

    @router.post(site.sign_in_path, dependencies=[Depends(PublicPage(site, "sign-in"))])
    async def sign_in(request: Request, form: Form) -> Response:
        target = target_within_site(site, form.get("next"))
        try:
            session = await _verify_token(site, request, form.get("token", "").strip())
            response: Response = redirect_to(target)
            set_session_cookie(site, request, response, session)
        except (Unauthenticated, Forbidden, InvalidRequest) as error:
            return _render(site, request, target, error=error)
        set_or_remove_cookie(site, request, response, visitor_cookie_name(site))
        return response


async def _verify_token(site: Site, request: Request, token: str) -> Session:
    if not token:
        raise InvalidRequest("missing_token", "paste a token first")
    principal = await site.verifier.verify(token)
    enforce_rate_limit(request, principal)
    if principal.role not in site.roles:
        known = ", ".join(sorted(site.roles))
        raise Forbidden("forbidden_role", f"the token's role is {principal.role.value}; these pages are for {known}")
    return Session(principal, token)


def _render(
    site: Site, request: Request, target: str, *, notice: str | None = None, error: DomainError | None = None
) -> Response:
    """Return the sign-in page and set the visitor cookie. A token that was typed is never sent back."""
    visitor = request.cookies.get(visitor_cookie_name(site)) or site.ids.salt()
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
    set_or_remove_cookie(site, request, response, visitor_cookie_name(site), visitor, VISITOR_LIFETIME_S)
    return response
