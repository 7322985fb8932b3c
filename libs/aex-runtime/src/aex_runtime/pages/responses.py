"""Responses of pages: rendered templates, security headers, redirects and links."""

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import unquote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse

from aex_runtime.pages.formats import formats_for
from aex_runtime.pages.forms import expected_csrf
from aex_runtime.pages.sessions import current_session
from aex_runtime.pages.site import Site

PAGE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    # Not `no-referrer` as in the API: with it browsers send `Origin: null` with every form.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Vary": "Cookie, Accept-Language, HX-Request",
}
MAX_TARGET_CHARS = 2_000
_TARGET = re.compile(rf"/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]{{0,{MAX_TARGET_CHARS - 1}}}")
"""Path and query, without line ends, which end a header, and backslashes, which browsers read as slashes."""


def render_page(
    site: Site, request: Request, template: str, *, status: int = 200, csrf: str | None = None, **values: object
) -> HTMLResponse:
    """Return a page, whose template gets `values` beside what all templates get."""
    session = current_session(request)
    reader = session.principal if session else None
    html = site.templates.render(
        template,
        site=site,
        formats=formats_for(request.headers.get("accept-language")),
        session=session,
        navigation=[
            replace(link, path=link.path.format(role=reader.role.value, id=reader.id))
            for link in site.navigation
            if reader and reader.role in link.roles
        ],
        csrf=csrf or expected_csrf(site, request),
        path=request.scope["path"],
        **values,
    )
    return HTMLResponse(html, status)


def redirect_to(path: str) -> RedirectResponse:
    """Return a redirect (303) to a path of this service."""
    return RedirectResponse(path, 303)


def query_without_cursor(request: Request) -> str:
    """Return the query without cursor and limit, for links to other pages of the list."""
    return urlencode([each for each in request.query_params.multi_items() if each[0] not in {"cursor", "limit"}])


def path_with_query(path: str, request: Request) -> str:
    """Return the path with the request's raw query, which may hold bytes that are not text."""
    query = request.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def safe_target(site: Site, target: str | None) -> str:
    """Return the target after a sign-in: a page of the site, the first page for any other text."""
    if target is None or _TARGET.fullmatch(target) is None:
        return site.prefix
    path = unquote(target.partition("?")[0])  # browsers read `%2e%2e` as two dots
    is_inside = path == site.prefix or path.startswith(f"{site.prefix}/")
    is_plain = "//" not in path and not set(path.split("/")) & {".", ".."}
    is_page = path not in {site.sign_in_path, site.sign_out_path}
    return target if is_inside and is_plain and is_page else site.prefix
