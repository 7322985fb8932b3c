"""Who may call a route: every route names its roles, and none is open by oversight."""

from fastapi import Request
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from aex_models.audiences import Audience
from aex_runtime.errors import Forbidden, Unauthenticated
from aex_runtime.http.rate_limit import RateLimits
from aex_runtime.identity.principal import Principal
from aex_runtime.identity.verifier import TokenVerifier

__all__ = ["ANYONE", "Allow", "Principal", "admit", "authenticate"]


class Allow(SecurityBase):
    """A dependency that admits the named roles: `principal: Annotated[Principal, Depends(Allow("consumer"))]`.

    Raises `Unauthenticated` without a valid token, `RateLimited` and, for any other role, `Forbidden`.
    """

    def __init__(self, *roles: Audience | str) -> None:
        if not roles:
            raise ValueError("a route admits at least one role")
        self.roles = frozenset(Audience(role) for role in roles)
        self.model = HTTPBearer(bearerFormat="JWT", description="`aex token` mints one for the embedded suite.")
        self.scheme_name = "bearer"

    async def __call__(self, request: Request) -> Principal:
        """The caller, authenticated once for each request and checked against the roles."""
        principal = await authenticate(request)
        if principal.role not in self.roles:
            raise Forbidden("forbidden_role", f"the role {principal.role.value} may not do this")
        return principal


ANYONE = tuple(Audience)
"""Every role: what any authenticated caller may do."""


async def authenticate(request: Request) -> Principal:
    """The principal of the request's bearer token; verified and counted once, then remembered on the request.

    Raises `Unauthenticated`, and `RateLimited` for one that sends too many requests.
    """
    known = getattr(request.state, "principal", None)
    if isinstance(known, Principal):
        return known
    verifier: TokenVerifier = request.app.state.verifier
    principal = await verifier.verify(_bearer_token(request))
    admit(request, principal)
    request.state.principal = principal
    return principal


def admit(request: Request, principal: Principal) -> None:
    """Count a request of this principal. Raises `RateLimited`."""
    limits: RateLimits = request.app.state.rate_limits
    limits.take(principal)


def _bearer_token(request: Request) -> str:
    headers = request.headers.getlist("authorization")
    if not headers:
        raise Unauthenticated("missing_token", "a bearer token is needed")
    scheme, _, token = headers[0].partition(" ")
    if len(headers) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("invalid_token", "the Authorization header must be: Bearer <token>")
    return token.strip()
