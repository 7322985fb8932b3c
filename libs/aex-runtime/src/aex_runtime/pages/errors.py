"""Routes of pages, which answer an error with a page that has advice and the request id."""

from collections.abc import Callable, Coroutine, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from aex_models.work import Problem
from aex_runtime.errors import Unauthenticated
from aex_runtime.http.problems import INTERNAL_ERROR, http_status_of, retry_headers, to_domain_error_if_expected
from aex_runtime.http.routing import ServiceRoute, find_dependency
from aex_runtime.logs import exception_chain
from aex_runtime.pages.forms import SAFE_METHODS, check_posted_form
from aex_runtime.pages.responses import MAX_TARGET_CHARS, PAGE_HEADERS, path_with_query, redirect_to, render_page
from aex_runtime.pages.sessions import AllowSession, PublicPage, session_cookie_name, set_or_remove_cookie
from aex_runtime.pages.site import Site

_ADVICE = {
    400: "Correct that and try again.",
    403: "Sign in with a token of a role that may, or go back.",
    404: "It does not exist, or you may not see it. Check the address.",
    413: "Send less at once.",
    422: "Correct that and try again.",
    429: "Wait a moment, then try again.",
    503: "A part of the service does not answer at present. Wait a moment, then load the page again.",
}
_log = structlog.get_logger(__name__)


def _error_page(site: Site, request: Request, error: Exception, route: str) -> Response:
    """Return the page for an error; for a missing or invalid session redirect to the sign-in page."""
    known = to_domain_error_if_expected(error)
    if known is None:
        _log.error("unexpected_error", method=request.method, route=route, traceback=exception_chain(error))
        return _page(site, request, 500, INTERNAL_ERROR, ())
    if isinstance(known, Unauthenticated):
        return _redirect_to_sign_in(site, request)
    response = _page(site, request, http_status_of(known), known.message, known.errors)
    response.headers.update(retry_headers(known))
    return response


def _page(site: Site, request: Request, status: int, message: str, problems: Sequence[Problem]) -> Response:
    return render_page(
        site,
        request,
        "failure.html",
        status=status,
        heading=HTTPStatus(status).phrase,
        message=message,
        advice=_ADVICE.get(status, ""),
        problems=problems,
        code=status,
        request_id=getattr(request.state, "request_id", ""),
    )


def _redirect_to_sign_in(site: Site, request: Request) -> Response:
    query: dict[str, str] = {}
    had_session = session_cookie_name(site) in request.cookies
    if request.method in SAFE_METHODS:
        target = path_with_query(quote(request.scope["path"], safe="/:@+"), request)
        if len(target) <= MAX_TARGET_CHARS:
            query["next"] = target
        # With a link on another site browsers send no strict cookie; they do when a page of this site loads it again.
        if request.headers.get("sec-fetch-site") == "cross-site" and not had_session:
            return render_page(site, request, "reload.html", target=query.get("next", site.prefix))
    if had_session:
        query["ended"] = "1"
    target = f"{site.sign_in_path}?{urlencode(query)}" if query else site.sign_in_path
    if "hx-request" in request.headers:  # htmx follows redirects silently and would insert the form into the page
        response = Response(status_code=401, headers={"HX-Redirect": target})
    else:
        response = redirect_to(target)
    if had_session:
        set_or_remove_cookie(site, request, response, session_cookie_name(site))
    return response


class PageRoute(ServiceRoute):
    """A route of a page, which must depend on `AllowSession` or on `PublicPage`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        guard = find_dependency(self, AllowSession) or find_dependency(self, PublicPage)
        if guard is None:
            raise TypeError(f"{self.path}: a page depends on AllowSession(site), or on OpenPage(site, reason)")
        site = guard.site

        async def handle_page(request: Request) -> Response:
            await site.templates.load_all_if_needed()
            try:
                if isinstance(guard, AllowSession):
                    await guard(request)
                if request.method not in SAFE_METHODS:
                    await check_posted_form(site, request)
                response = await handle(request)
            except ClientDisconnect:
                raise
            except Exception as error:  # noqa: BLE001 the middleware would answer with JSON
                response = _error_page(site, request, error, self.path_format)
            for name, value in PAGE_HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return handle_page


def page_router() -> APIRouter:
    """Return a router for pages. OpenAPI does not document its routes."""
    return APIRouter(route_class=PageRoute, include_in_schema=False)
