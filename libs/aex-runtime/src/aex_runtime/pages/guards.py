"""Who may see a page: whoever has signed in with a token of one of its roles."""

from fastapi import Request

from aex_models.audiences import Audience
from aex_runtime.errors import Forbidden, Unauthenticated
from aex_runtime.http.auth import Allow, admit
from aex_runtime.http.routing import Public
from aex_runtime.identity.principal import Principal
from aex_runtime.pages.sessions import Session, session_cookie
from aex_runtime.pages.site import Site


class AllowSession(Allow):
    """Admits the site's roles, or those named, by the session's cookie; its token is verified with each request.

    A bearer token in the header does as well, as it does for the API; no browser sends one by itself.
    """

    def __init__(self, site: Site, *roles: Audience) -> None:
        super().__init__(*(roles or site.roles))
        self.site = site

    async def __call__(self, request: Request) -> Principal:
        """The principal. Raises `Unauthenticated` without a session and `Forbidden` for any other role."""
        principal = (await open_session(self.site, request)).principal
        if principal.role not in self.roles:
            raise Forbidden("forbidden_role", f"the role {principal.role.value} may not see this page")
        return principal


class OpenPage(Public):
    """Marks a page of a site that answers without a session, with the reason."""

    def __init__(self, site: Site, reason: str) -> None:
        super().__init__(reason)
        self.site = site


async def open_session(site: Site, request: Request) -> Session:
    """The session of a request; verified and counted once, then remembered on the request.

    Raises `Unauthenticated` and `RateLimited`.
    """
    known = session_of(request)
    if known is not None:
        return known
    token = _token(site, request)
    session = Session(await site.verifier.verify(token), token)
    admit(request, session.principal)
    request.state.session = session
    request.state.principal = session.principal  # for what the API shares with the pages: cursors
    return session


def session_of(request: Request) -> Session | None:
    """The session that was opened for this request, if one was."""
    known = getattr(request.state, "session", None)
    return known if isinstance(known, Session) else None


def _token(site: Site, request: Request) -> str:
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    token = bearer.strip() if scheme.lower() == "bearer" else request.cookies.get(session_cookie(site), "")
    if not token:
        raise Unauthenticated("not_signed_in", "nobody has signed in")
    return token
