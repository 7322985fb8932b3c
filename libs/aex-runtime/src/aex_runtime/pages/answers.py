"""Pages as answers: rendered with what every page needs, under a policy that lets nothing foreign run."""

from collections.abc import Mapping

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from aex_runtime.pages.forms import expected_csrf
from aex_runtime.pages.guards import session_of
from aex_runtime.pages.locales import formats_for
from aex_runtime.pages.site import NavigationLink, Site

PAGE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    # Not `no-referrer`, as elsewhere: with that browsers send `Origin: null` with every form.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Vary": "Cookie, Accept-Language, HX-Request",
}


def render_page(
    site: Site,
    request: Request,
    template: str,
    *,
    status: int = 200,
    csrf: str | None = None,
    **values: object,
) -> HTMLResponse:
    """A page. Its template knows `site`, `formats`, `session`, `navigation`, `csrf`, `path`, and these `values`."""
    session = session_of(request)
    html = site.templates.render(
        template,
        site=site,
        formats=formats_for(request.headers.get("accept-language")),
        session=session,
        navigation=_navigation(site, request),
        csrf=csrf or expected_csrf(site, request),
        path=request.scope["path"],
        **values,
    )
    return HTMLResponse(html, status)


def see(path: str) -> RedirectResponse:
    """Go there with a GET. `path` is one of ours."""
    return RedirectResponse(path, 303)


def add_page_headers(response: Response) -> None:
    """What every answer of a site carries, less what it has of its own."""
    for name, value in PAGE_HEADERS.items():
        response.headers.setdefault(name, value)


def _navigation(site: Site, request: Request) -> list[NavigationLink]:
    session = session_of(request)
    if session is None:
        return []
    reader = {"role": session.principal.role.value, "id": session.principal.id}
    return [
        NavigationLink(link.text, link.path.format(**reader), link.roles)
        for link in site.navigation
        if session.principal.role in link.roles
    ]
