"""Responses of pages: rendered templates, redirects, links and security headers."""

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import unquote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse

from aex_runtime.pages.formats import formats_for
from aex_runtime.pages.forms import expected_csrf_token
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
"""A path with an optional query. Line ends would end a header, and browsers read backslashes as slashes."""


def render_page(
    site: Site, request: Request, template: str, *, status: int = 200, csrf: str | None = None, **values: object
) -> HTMLResponse:
    """Render a template and return the page.

    The template gets `values`, and the session, navigation, formats and CSRF token that all templates get.
    """
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
        csrf=csrf or expected_csrf_token(site, request),
        path=request.scope["path"],
        **values,
    )
    return HTMLResponse(html, status)


def redirect_to(path: str) -> RedirectResponse:
    """Return a redirect (303) to a path of this service."""
    return RedirectResponse(path, 303)


def query_without_paging(request: Request) -> str:
    """Return the request's query string without `cursor` and `limit`, for links to pages of a list."""
    return urlencode([each for each in request.query_params.multi_items() if each[0] not in {"cursor", "limit"}])


def path_with_query(path: str, request: Request) -> str:
    """Return the path with the request's query string, unparsed because it may be no valid text."""
    query = request.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def target_within_site(site: Site, target: str | None) -> str:
    """Return where to go after a sign-in: `target` if it is a page of the site, else the first page."""
    if target is None or _TARGET.fullmatch(target) is None:
        return site.prefix
    path = unquote(target.partition("?")[0])  # browsers read `%2e%2e` as two dots
    is_inside = path == site.prefix or path.startswith(f"{site.prefix}/")
    is_plain = "//" not in path and not set(path.split("/")) & {".", ".."}
    is_page = path not in {site.sign_in_path, site.sign_out_path}
    return target if is_inside and is_plain and is_page else site.prefix
