"""Mints tokens with the local key: for `aex token` and for calls between embedded services."""

from collections.abc import Sequence
from datetime import timedelta

from aex_models.audiences import Audience
from aex_models.events import SERVICES
from aex_runtime.clock import Clock
from aex_runtime.identity.local_key import LOCAL_ISS, LocalKey
from aex_runtime.ids import Ids


class LocalIssuer:
    """Signs tokens that the services of this installation take."""

    def __init__(self, key: LocalKey, clock: Clock, ids: Ids) -> None:
        self._key = key
        self._clock = clock
        self._ids = ids

    def mint(
        self,
        sub: str,
        role: Audience | str,
        audiences: Sequence[str] = SERVICES,
        org: str | None = None,
        ttl: timedelta = timedelta(hours=12),
    ) -> str:
        """A signed token for `sub` in `role`, good for `ttl` at the named services."""
        import jwt  # noqa: PLC0415 see `verifier`

        now = self._clock.now()
        claims: dict[str, object] = {
            "iss": LOCAL_ISS,
            "sub": sub,
            "aud": list(audiences),
            "role": Audience(role).value,
            "iat": int(now.timestamp()),
            "exp": int((now + ttl).timestamp()),
            "jti": self._ids.new("tok"),
        }
        if org is not None:
            claims["org"] = org
        return jwt.encode(claims, self._key.private, algorithm="EdDSA", headers={"kid": self._key.kid})
