"""ID tokens of the account that the machine runs as, from Google's metadata server.

One documented GET. Google's own library does it in a thread that nobody can stop, with five tries of its own, reads
whatever length of an answer, and follows redirects and proxies: all of that would have to be taken from it again.
https://cloud.google.com/compute/docs/instances/verifying-instance-identity
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import httpx
import structlog

from aex_models.backoff import Backoff
from aex_runtime.identity.verifier import MAX_TOKEN_CHARS
from aex_runtime.ids import Ids

_log = structlog.get_logger(__name__)
_PATH = "/computeMetadata/v1/instance/service-accounts/default/identity"
_RETRY = Backoff(first=timedelta(milliseconds=100), cap=timedelta(seconds=1))
_PASSES = frozenset({httpx.codes.REQUEST_TIMEOUT, httpx.codes.TOO_MANY_REQUESTS})
"""Beside all of 5xx. Any other status is about the account or the question: asking again changes nothing."""


class NoIdToken(Exception):
    """There is no ID token; the message says why, without any of the answer's text.

    `passes`: it is worth asking again.
    """

    def __init__(self, reason: str, *, passes: bool = False) -> None:
        super().__init__(reason)
        self.passes = passes


@dataclass(frozen=True, slots=True)
class FetchBounds:
    """How long a fetch may take, in seconds, and how often it is tried."""

    attempts: int = 3
    each_s: float = 1.5
    whole_s: float = 4.0
    """With all tries and the pauses between them; less than verification gives governance to answer."""


_BOUNDS = FetchBounds()


class MetadataServer:
    """Asks the metadata server at `host` (`name` or `name:port`)."""

    def __init__(self, host: str, ids: Ids, bounds: FetchBounds = _BOUNDS) -> None:
        self._url = f"http://{host}{_PATH}"
        self._ids = ids
        self._bounds = bounds

    async def id_token(self, audience: str) -> str:
        """What the server answers for `audience`: a token, unless it is something else. Raises `NoIdToken`."""
        try:
            async with asyncio.timeout(self._bounds.whole_s):
                return await self._tried(audience)
        except TimeoutError as error:
            raise NoIdToken(f"no answer within {self._bounds.whole_s:g} s") from error

    async def _tried(self, audience: str) -> str:
        failures = 0
        while True:
            try:
                return await self._asked(audience)
            except NoIdToken as error:
                failures += 1
                if not error.passes or failures == self._bounds.attempts:
                    raise
                delay_s = _RETRY.delay(failures, self._ids.jitter()).total_seconds()
                _log.warning("id_token_retried", audience=audience, reason=str(error), retry_in_s=delay_s)
            await asyncio.sleep(delay_s)

    async def _asked(self, audience: str) -> str:
        content = bytearray()
        try:
            async with (
                asyncio.timeout(self._bounds.each_s),
                # It is on this very machine: no proxy, no redirect and no certificate (to read them takes 15 ms) has to
                # do with it.
                httpx.AsyncClient(timeout=self._bounds.each_s, trust_env=False, verify=False) as client,  # noqa: S501
                client.stream(
                    "GET",
                    self._url,
                    params={"audience": audience, "format": "full"},  # `full`: with the account's e-mail address
                    headers={"Metadata-Flavor": "Google"},
                ) as response,
            ):
                status = response.status_code
                if status != httpx.codes.OK:
                    raise NoIdToken(f"status {status}", passes=status >= 500 or status in _PASSES)
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > MAX_TOKEN_CHARS:
                        raise NoIdToken("the answer is longer than a token")
        except (
            httpx.HTTPError,
            AttributeError,
            TimeoutError,
        ) as error:  # AttributeError: anyio's, as a connection breaks
            raise NoIdToken(type(error).__name__, passes=True) from error
        try:
            return content.decode("ascii").strip()
        except UnicodeDecodeError as error:
            raise NoIdToken("the answer is no token") from error
