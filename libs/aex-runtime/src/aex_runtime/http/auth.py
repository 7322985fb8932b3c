"""Guards of routes, which check the bearer token, the rate limit and the role."""

from fastapi import Request
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from aex_models.audiences import Audience
from aex_runtime.errors import Forbidden, Unauthenticated
from aex_runtime.http.limits import RateLimits
from aex_runtime.identity.principals import Principal
from aex_runtime.identity.verifier import TokenVerifier

__all__ = ["ANYONE", "Allow", "Principal", "authenticate", "enforce_rate_limit"]


class Allow(SecurityBase):
    """A dependency that admits callers of some roles.

    Use: `principal: Annotated[Principal, Depends(Allow("consumer"))]`.
    """

    def __init__(self, *roles: Audience | str) -> None:
        if not roles:
            raise ValueError("a route admits at least one role")
        self.roles = frozenset(Audience(role) for role in roles)
        self.model = HTTPBearer(bearerFormat="JWT", description="`aex token` mints one for the embedded suite.")
        self.scheme_name = "bearer"

    async def __call__(self, request: Request) -> Principal:
        """Authenticate the caller, check its role and return the principal.

        Raises `Unauthenticated` without a valid token, `RateLimited`, and `Forbidden` for any other role.
        """
        principal = await authenticate(request)
        if principal.role not in self.roles:
            raise Forbidden("forbidden_role", f"the role {principal.role.value} may not do this")
        return principal


ANYONE = tuple(Audience)
"""Every role, for routes that any authenticated caller may use."""


async def authenticate(request: Request) -> Principal:
    """Verify the request's bearer token and return its principal; count the request for the rate limit.

    Later calls for the same request return the same principal without another check. Raises `Unauthenticated`,
    `RateLimited`.
    """
    known = getattr(request.state, "principal", None)
    if isinstance(known, Principal):
        return known
    headers = request.headers.getlist("authorization")
    if not headers:
        raise Unauthenticated("missing_token", "a bearer token is needed; send Authorization: Bearer <token>")
    scheme, _, token = headers[0].partition(" ")
    if len(headers) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("invalid_token", "the Authorization header must be: Bearer <token>")
    verifier: TokenVerifier = request.app.state.verifier
    principal = await verifier.verify(token.strip())
    enforce_rate_limit(request, principal)
    request.state.principal = principal
    return principal


def enforce_rate_limit(request: Request, principal: Principal) -> None:
    """Count one request of this principal. Raises `RateLimited` above its rate limit."""
    limits: RateLimits = request.app.state.rate_limits
    limits.count_request_or_raise(principal)
