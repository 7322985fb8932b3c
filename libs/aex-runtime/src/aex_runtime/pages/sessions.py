"""Sessions of pages: a cookie that holds the token and ends with it, and guards that check its role."""

import hmac
from dataclasses import dataclass, field
from hashlib import sha256

from fastapi import Request, Response

from aex_models.audiences import Audience
from aex_runtime.errors import Forbidden, InvalidRequest, Unauthenticated
from aex_runtime.http.auth import Allow, enforce_rate_limit
from aex_runtime.http.routing import Public
from aex_runtime.identity.principals import Principal
from aex_runtime.pages.site import Site

MAX_COOKIE_CHARS = 3_800
"""The longest token for a cookie: browsers silently drop one with more than 4,096 bytes in all."""
VISITOR_LIFETIME_S = 43_200


@dataclass(frozen=True, slots=True)
class Session:
    """The principal that is signed in, and its token."""

    principal: Principal
    token: str = field(repr=False)


def session_cookie_name(site: Site) -> str:
    """Return the name of the session cookie. The service is part of it, since cookies ignore ports."""
    return f"aex_{site.service}_session"


def visitor_cookie_name(site: Site) -> str:
    """Return the name of the cookie of a visitor who is not signed in."""
    return f"aex_{site.service}_visit"


def set_session_cookie(site: Site, request: Request, response: Response, session: Session) -> None:
    """Set the session cookie, which ends with the token.

    Raises `InvalidRequest` for a token that is too long for a cookie.
    """
    if len(session.token) > MAX_COOKIE_CHARS:
        raise InvalidRequest("token_too_long", f"a session takes tokens of at most {MAX_COOKIE_CHARS} characters")
    end = session.principal.expires_at
    max_age_s = None if end is None else max(int((end - site.clock.now()).total_seconds()), 0)
    set_or_remove_cookie(site, request, response, session_cookie_name(site), session.token, max_age_s)


def csrf_token(site: Site, kind: str, secret: str) -> str:
    """Return the CSRF token that a form must send back. `kind` is `session` or `visit`."""
    return hmac.new(site.key, f"{kind}\0{secret}".encode(), sha256).hexdigest()


def is_https(request: Request) -> bool:
    """Return whether the browser uses TLS, by the header of a proxy or the connection.

    A forged header harms only its sender.
    """
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    return (forwarded or request.scope["scheme"]) == "https"


def set_or_remove_cookie(
    site: Site, request: Request, response: Response, name: str, value: str = "", max_age_s: int | None = 0
) -> None:
    """Set a cookie of the site; with the default value and age remove it.

    `max_age_s` None keeps it until the browser closes.
    """
    response.set_cookie(
        name, value, max_age=max_age_s, path=site.prefix, secure=is_https(request), httponly=True, samesite="strict"
    )


class AllowSession(Allow):
    """A guard of pages, which verifies the token in the session cookie at each request.

    A bearer token in the header works too, as in the API.
    """

    def __init__(self, site: Site, *roles: Audience) -> None:
        super().__init__(*(roles or site.roles))
        self.site = site

    async def __call__(self, request: Request) -> Principal:
        """Return the principal of the session.

        Raises `Unauthenticated` without a valid session, and `Forbidden` for any other role.
        """
        principal = (await authenticate_session_within_rate_limit(self.site, request)).principal
        if principal.role not in self.roles:
            raise Forbidden("forbidden_role", f"the role {principal.role.value} may not see this page")
        return principal


class PublicPage(Public):
    """A dependency that marks a page as open to visitors without a session, with the reason."""

    def __init__(self, site: Site, reason: str) -> None:
        super().__init__(reason)
        self.site = site


async def authenticate_session_within_rate_limit(site: Site, request: Request) -> Session:
    """Verify the token of the request and return its session; count the request for the rate limit.

    Later calls for the same request return the same session without another check. Raises `Unauthenticated`,
    `RateLimited`.
    """
    known = current_session(request)
    if known is not None:
        return known
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    token = bearer.strip() if scheme.lower() == "bearer" else request.cookies.get(session_cookie_name(site), "")
    if not token:
        raise Unauthenticated("not_signed_in", "this page needs a session; sign in first")
    session = Session(await site.verifier.verify(token), token)
    enforce_rate_limit(request, session.principal)
    request.state.session = session
    request.state.principal = session.principal  # cursors read it, which the API and the pages share
    return session


def current_session(request: Request) -> Session | None:
    """Return the session of this request; None before `authenticate_session_within_rate_limit`."""
    known: Session | None = getattr(request.state, "session", None)
    return known
