"""Signing in by cookie: the token itself, read by nobody but this service, and over when the token is."""

import hmac
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256

from fastapi import Request, Response

from aex_runtime.errors import InvalidRequest
from aex_runtime.identity.principal import Principal
from aex_runtime.pages.site import Site

MAX_COOKIE_CHARS = 3_800
"""Browsers keep 4,096 bytes of name, value and attributes, and drop a longer cookie without a word."""
VISIT_LIFETIME = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Session:
    """Who has signed in, and the token that says so."""

    principal: Principal
    token: str = field(repr=False)


def session_cookie(site: Site) -> str:
    """The name of the session's cookie: the service's own, since cookies do not keep ports apart."""
    return f"aex_{site.service}_session"


def visit_cookie(site: Site) -> str:
    """The name of the cookie that a visitor has before it signs in."""
    return f"aex_{site.service}_visit"


def keep_session(site: Site, request: Request, response: Response, session: Session) -> None:
    """Sign in: the cookie ends with the token. Raises `InvalidRequest` for a token that no browser would keep."""
    if len(session.token) > MAX_COOKIE_CHARS:
        raise InvalidRequest("token_too_long", f"a session takes tokens of at most {MAX_COOKIE_CHARS} characters")
    ends = session.principal.expires_at
    left = None if ends is None else max(int((ends - site.clock.now()).total_seconds()), 0)
    _keep(site, request, response, session_cookie(site), session.token, left)


def end_session(site: Site, request: Request, response: Response) -> None:
    """Sign out."""
    _keep(site, request, response, session_cookie(site), "", 0)


def keep_visit(site: Site, request: Request, response: Response, visit: str) -> None:
    """Remember a visitor until it signs in."""
    _keep(site, request, response, visit_cookie(site), visit, int(VISIT_LIFETIME.total_seconds()))


def end_visit(site: Site, request: Request, response: Response) -> None:
    """Forget a visitor: it has signed in."""
    _keep(site, request, response, visit_cookie(site), "", 0)


def csrf_token(site: Site, kind: str, secret: str) -> str:
    """What a form must send back: of a `session` (bound to its token) or of a `visit`."""
    return hmac.new(site.key, f"{kind}\0{secret}".encode(), sha256).hexdigest()


def is_https(request: Request) -> bool:
    """Whether the browser speaks TLS, with us or with the proxy in front. A caller that lies deceives itself."""
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    return (forwarded or request.scope["scheme"]) == "https"


def _keep(site: Site, request: Request, response: Response, name: str, value: str, max_age_s: int | None) -> None:
    response.set_cookie(
        name, value, max_age=max_age_s, path=site.prefix, secure=is_https(request), httponly=True, samesite="strict"
    )
