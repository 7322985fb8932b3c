"""Asks /readyz of a service until it says yes.

With the standard library: the supervisor should not spend on imports what the services need to start.
"""

import asyncio
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException

from aex_cli.suite.service_spec import ServiceSpec

_POLL_S = 0.1
_ANSWER_S = 5.0
_SHOWN = 300


class ReadinessProbe:
    """Polls readiness over loopback; remembers the last answer, to say what a service is waiting for."""

    def __init__(self) -> None:
        self.last: dict[str, str] = {}
        self._ready: set[str] = set()

    async def until_ready(self, spec: ServiceSpec) -> None:
        """Return once /readyz answers 200. Has no deadline of its own: the caller sets it."""
        self._ready.discard(spec.label)
        while True:
            ready, self.last[spec.label] = await asyncio.to_thread(_ask, spec)
            if ready:
                self._ready.add(spec.label)
                return
            await asyncio.sleep(_POLL_S)

    def waiting(self) -> dict[str, str]:
        """The services that are not ready, and what they answered last."""
        return {name: answer for name, answer in self.last.items() if name not in self._ready}


def _ask(spec: ServiceSpec) -> tuple[bool, str]:
    """Whether the service is ready, and what it answered."""
    connection = HTTPConnection(spec.host, spec.port, timeout=_ANSWER_S)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        text = answer.read(_SHOWN).decode(errors="replace")
    except (OSError, HTTPException) as error:
        return False, f"no answer on port {spec.port} ({type(error).__name__})"
    finally:
        connection.close()
    return answer.status == HTTPStatus.OK, f"/readyz answers {answer.status}: {text}"
