"""Asks /readyz of a service until it says yes."""

import asyncio
from types import TracebackType

import httpx

from aex_cli.suite.service_spec import ServiceSpec

_POLL_S = 0.05
_ANSWER_S = 5.0
_SHOWN = 300


class ReadinessProbe:
    """Polls readiness over loopback; remembers the last answer, to say what a service is waiting for."""

    def __init__(self) -> None:
        # No proxies: the environment's may not know the way to loopback.
        self._client = httpx.AsyncClient(timeout=_ANSWER_S, trust_env=False)
        self.last: dict[str, str] = {}
        self._ready_names: set[str] = set()

    async def __aenter__(self) -> "ReadinessProbe":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def until_ready(self, spec: ServiceSpec) -> None:
        """Return once /readyz answers 200. Has no deadline of its own: the caller sets it."""
        self._ready_names.discard(spec.name)
        while True:
            if await self._ready(spec):
                return
            await asyncio.sleep(_POLL_S)

    def waiting(self) -> dict[str, str]:
        """The services that are not ready, and what they answered last."""
        return {name: answer for name, answer in self.last.items() if name not in self._ready_names}

    async def _ready(self, spec: ServiceSpec) -> bool:
        try:
            answer = await self._client.get(f"{spec.url}/readyz")
        except httpx.TransportError as error:
            self.last[spec.name] = f"no answer on port {spec.port} ({type(error).__name__})"
            return False
        self.last[spec.name] = f"/readyz answers {answer.status_code}: {answer.text[:_SHOWN]}"
        if answer.status_code != httpx.codes.OK:
            return False
        self._ready_names.add(spec.name)
        return True
