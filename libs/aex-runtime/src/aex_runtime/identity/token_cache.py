"""Tokens that were verified a moment ago: a signature costs more than the rest of a small request."""

from collections import OrderedDict
from datetime import datetime, timedelta
from hashlib import sha256

from aex_runtime.identity.principal import Principal

MAX_TOKENS = 4_096
TRUSTED_FOR = timedelta(seconds=60)
"""After which a token is verified anew, so that a withdrawn key stops working."""


class TokenCache:
    """Remembers principals by the digest of their token, for a minute, and never past the token's end."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, tuple[Principal, datetime]] = OrderedDict()

    def get(self, token: str, now: datetime) -> Principal | None:
        """The principal of a token that was verified lately."""
        key = _key(token)
        known = self._known.get(key)
        if known is None:
            return None
        principal, until = known
        if not until - TRUSTED_FOR <= now < until:  # over; or the clock was set back
            del self._known[key]
            return None
        return principal

    def put(self, token: str, principal: Principal, now: datetime, expires_at: datetime) -> None:
        """Remember a token that has just been verified."""
        self._known[_key(token)] = (principal, min(now + TRUSTED_FOR, expires_at))
        if len(self._known) > MAX_TOKENS:
            self._known.popitem(last=False)


def _key(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
