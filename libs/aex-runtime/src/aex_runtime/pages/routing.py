"""Routes that answer with pages: guarded, posts checked before anything is done, errors as pages."""

from collections.abc import Callable, Coroutine
from typing import Any

import structlog
from fastapi import APIRouter, Request, Response
from starlette.requests import ClientDisconnect

from aex_runtime.http.routing import ServiceRoute, allow_of, public_of
from aex_runtime.pages.answers import add_page_headers
from aex_runtime.pages.failures import failure_page, internal_failure_page, known_failure
from aex_runtime.pages.forms import SAFE_METHODS, check_post
from aex_runtime.pages.guards import AllowSession, OpenPage
from aex_runtime.pages.site import Site
from aex_runtime.redaction import describe

_log = structlog.get_logger(__name__)


class PageRoute(ServiceRoute):
    """A route of a site: it depends on an `AllowSession`, or is marked `OpenPage`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        guard = allow_of(self) or public_of(self)
        if not isinstance(guard, AllowSession | OpenPage):
            raise TypeError(f"{self.path}: a page depends on AllowSession(site), or on OpenPage(site, reason)")
        site = guard.site

        async def checked(request: Request) -> Response:
            if isinstance(guard, AllowSession):
                await guard(request)
            if request.method not in SAFE_METHODS:
                await check_post(site, request)
            return await handle(request)

        async def page(request: Request) -> Response:
            await site.templates.prepare()
            try:
                response = await checked(request)
            except ClientDisconnect:
                raise
            except Exception as error:  # noqa: BLE001 the last net of pages; the envelope's would answer with JSON
                response = _failed(site, request, error, self.path_format)
            add_page_headers(response)
            return response

        return page


def page_router() -> APIRouter:
    """The router that a service declares its pages on; they are no part of its API's document."""
    return APIRouter(route_class=PageRoute, include_in_schema=False)


def _failed(site: Site, request: Request, error: Exception, route: str) -> Response:
    known = known_failure(error)
    if known is not None:
        return failure_page(site, request, known)
    _log.error("unexpected_error", method=request.method, route=route, traceback=describe(error))
    return internal_failure_page(site, request)
