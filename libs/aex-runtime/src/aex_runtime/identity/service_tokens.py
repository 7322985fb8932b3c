"""Tokens with which one service calls another: the port."""

from typing import Protocol

from aex_runtime.telemetry import current_trace


class ServiceTokens(Protocol):
    """Short-lived tokens for calls to other services."""

    async def token(self, audience: str) -> str:
        """A token that `audience` (a service's name) takes, in the role `service`.

        Raises `TemporarilyUnavailable` where none can be had at present: no call can be made, as if nobody were there.
        """
        ...

    async def headers(self, audience: str) -> dict[str, str]:
        """What a call to `audience` carries: the token and the running trace. Raises as `token` does."""
        ...


def bearing(token: str) -> dict[str, str]:
    """The headers of a call: the token and the running trace."""
    return {"Authorization": f"Bearer {token}", **current_trace()}
