"""Sessions of pages: a cookie that holds the token and ends with it, and guards that check its role."""

import hmac
from dataclasses import dataclass, field
from hashlib import sha256

from fastapi import Request, Response

from aex_models.audiences import Audience
from aex_runtime.errors import Forbidden, InvalidRequest, Unauthenticated
from aex_runtime.http.auth import Allow, admit
from aex_runtime.http.routing import Public
from aex_runtime.identity.principals import Principal
from aex_runtime.pages.site import Site

MAX_COOKIE_CHARS = 3_800
"""Browsers keep 4,096 bytes of name, value and attributes, and silently drop a longer cookie."""
VISITOR_LIFETIME_S = 43_200


@dataclass(frozen=True, slots=True)
class Session:
    """Signed-in principal and its token."""

    principal: Principal
    token: str = field(repr=False)


def session_cookie(site: Site) -> str:
    """Return the name of the session's cookie, which has the service's name, since cookies ignore ports."""
    return f"aex_{site.service}_session"


def visitor_cookie(site: Site) -> str:
    """Return the name of a visitor's cookie, which exists until the visitor signs in."""
    return f"aex_{site.service}_visit"


def set_session(site: Site, request: Request, response: Response, session: Session) -> None:
    """Set the session's cookie, which ends with the token. Raises `InvalidRequest` if too long."""
    if len(session.token) > MAX_COOKIE_CHARS:
        raise InvalidRequest("token_too_long", f"a session takes tokens of at most {MAX_COOKIE_CHARS} characters")
    end = session.principal.expires_at
    max_age_s = None if end is None else max(int((end - site.clock.now()).total_seconds()), 0)
    set_cookie(site, request, response, session_cookie(site), session.token, max_age_s)


def csrf_token(site: Site, kind: str, secret: str) -> str:
    """Return the CSRF token that a form must send back; `kind` is `session` or `visit`."""
    return hmac.new(site.key, f"{kind}\0{secret}".encode(), sha256).hexdigest()


def is_https(request: Request) -> bool:
    """Return whether the browser uses TLS; a forged header harms only its sender."""
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    return (forwarded or request.scope["scheme"]) == "https"


def set_cookie(
    site: Site, request: Request, response: Response, name: str, value: str = "", max_age_s: int | None = 0
) -> None:
    """Set a cookie of the site; without value and age remove it."""
    response.set_cookie(
        name, value, max_age=max_age_s, path=site.prefix, secure=is_https(request), httponly=True, samesite="strict"
    )


class AllowSession(Allow):
    """Guard of pages by the session's cookie, whose token is verified with each request.

    A bearer token in the header works too, as in the API; browsers do not send one on their own.
    """

    def __init__(self, site: Site, *roles: Audience) -> None:
        super().__init__(*(roles or site.roles))
        self.site = site

    async def __call__(self, request: Request) -> Principal:
        """Return the principal. Raises `Unauthenticated` without a session and `Forbidden` for any other role."""
        principal = (await open_session(self.site, request)).principal
        if principal.role not in self.roles:
            raise Forbidden("forbidden_role", f"the role {principal.role.value} may not see this page")
        return principal


class PublicPage(Public):
    """Marker of a page without a session, with the reason."""

    def __init__(self, site: Site, reason: str) -> None:
        super().__init__(reason)
        self.site = site


async def open_session(site: Site, request: Request) -> Session:
    """Return the session of a request, which is verified and counted once.

    Raises `Unauthenticated` and `RateLimited`.
    """
    known = current_session(request)
    if known is not None:
        return known
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    token = bearer.strip() if scheme.lower() == "bearer" else request.cookies.get(session_cookie(site), "")
    if not token:
        raise Unauthenticated("not_signed_in", "this page needs a session; sign in first")
    session = Session(await site.verifier.verify(token), token)
    admit(request, session.principal)
    request.state.session = session
    request.state.principal = session.principal  # cursors read it, which the API and the pages share
    return session


def current_session(request: Request) -> Session | None:
    """Return the session that `open_session` opened for this request, or None."""
    known: Session | None = getattr(request.state, "session", None)
    return known
