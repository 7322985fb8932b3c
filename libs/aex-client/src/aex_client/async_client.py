"""The client for programs that await."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import BinaryIO, Self, TypeVar

import httpx
from httpx_sse import EventSource, SSEError

from aex_client import calls
from aex_client.call import Call
from aex_client.endpoints import Endpoints, Service
from aex_client.exchange import Again, Done, Exchange, Manner, fresh_key, system_jitter
from aex_client.files import PIECE, Content, Receiving, Sending, Target
from aex_client.following import EVENTS_FOLLOW, Following
from aex_client.methods import AsyncSent
from aex_client.retries import FIVE_ATTEMPTS, RetryPolicy
from aex_client.rows import Rows
from aex_client.views import Page
from aex_models.artifacts import UploadedArtifact
from aex_models.contract_events import ContractEvent

T = TypeVar("T")


class AsyncAexClient:
    """`AexClient` with coroutines for methods; a token function may be a coroutine function too."""

    def __init__(
        self,
        endpoints: Endpoints,
        token: str | Callable[[], str | Awaitable[str]],
        *,
        retries: RetryPolicy = FIVE_ATTEMPTS,
        timeout_s: float = 30.0,
        http: httpx.AsyncClient | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = system_jitter,
        new_key: Callable[[], str] = fresh_key,
    ) -> None:
        self._manner = Manner(endpoints, retries, timeout_s, jitter, new_key)
        self._token = token
        self._http = http or httpx.AsyncClient()
        self._owns_http = http is None
        self._sleep = sleep

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, unless the HTTP client was given."""
        if self._owns_http:
            await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """Send any call; see `AexClient.send`."""
        exchange = Exchange(self._manner, call)
        while True:
            request = exchange.request(await self._current_token())
            try:
                step = exchange.answered(await self._http.send(request))
            except httpx.RequestError as error:
                step = exchange.unanswered(error)
            if isinstance(step, Done):
                return step.value
            await self._sleep(step.pause_s)

    async def each(self, call: Call[Page[T]]) -> AsyncIterator[T]:
        """All items of a list, page after page; see `AexClient.each`."""
        while True:
            page = await self.send(call)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            call = call.after(page.next_cursor)

    async def rows(self, call: Call[T]) -> AsyncGenerator[T, None]:
        """A long answer row by row; see `AexClient.rows`. Close it where you leave before its end."""
        rows = Rows(self._manner, call)
        while not rows.over:
            async with aclosing(self._read_rows(rows)) as read:
                async for row in read:
                    yield row
            if not rows.over:
                await self._sleep(rows.pause_s)

    async def _read_rows(self, rows: Rows[T]) -> AsyncGenerator[T, None]:
        """The rows of one connection."""
        try:
            async with aclosing(
                await self._http.send(rows.request(await self._current_token()), stream=True)
            ) as response:
                if not response.is_success:
                    await response.aread()
                    rows.refused(response)
                    return
                async for line in response.aiter_lines():
                    yield rows.row(line)
                rows.over = True
        except httpx.RequestError as error:
            rows.broken(error)

    async def events(self, contract_id: str, after: int | None = None) -> AsyncGenerator[ContractEvent, None]:
        """A contract's events as they happen; see `AexClient.events`. Close it where you leave before its end."""
        following = Following(self._manner, contract_id, after)
        while not following.over:
            async with aclosing(self._connection(following)) as events:
                async for event in events:
                    yield event
            await self._sleep(following.pause_s)

    async def _connection(self, following: Following) -> AsyncGenerator[ContractEvent, None]:
        """The events of one connection."""
        request = following.request(await self._current_token())
        try:
            async with aclosing(await self._http.send(request, stream=True)) as response:
                if response.status_code != EVENTS_FOLLOW:
                    await response.aread()
                    following.answered(response)
                    return
                async with aclosing(EventSource(response).aiter_sse()) as frames:
                    async for frame in frames:
                        event = following.heard(frame)
                        if event is not None:
                            yield event
                            if following.over:
                                return
                following.ended()
        except SSEError as error:  # a kind of the next one
            raise following.not_events(error) from error
        except httpx.RequestError as error:
            following.broken(error)

    async def upload_artifact(self, content: Content, *, service: Service = Service.VERIFICATION) -> UploadedArtifact:
        """Upload a file; see `AexClient.upload_artifact`."""
        sending = Sending(self._manner, content, service)
        while True:
            with sending.opened() as file:
                request = sending.request(await self._current_token(), file, _read_pieces(file))
                try:
                    step = sending.exchange.answered(await self._http.send(request))
                except httpx.RequestError as error:
                    step = sending.exchange.unanswered(error)
            if isinstance(step, Done):
                return step.value
            await self._sleep(step.pause_s)

    async def download_artifact(self, sha256: str, to: Target, *, service: Service = Service.VERIFICATION) -> int:
        """Download a file; see `AexClient.download_artifact`."""
        receiving = Receiving(self._manner, sha256, to, service)
        while True:
            try:
                request = receiving.exchange.request(await self._current_token())
                async with aclosing(await self._http.send(request, stream=True)) as response:
                    step = await self._received(receiving, response)
            except httpx.RequestError as error:
                step = receiving.exchange.unanswered(error)
            if isinstance(step, Done):
                return step.value
            await self._sleep(step.pause_s)

    async def _received(self, receiving: Receiving, response: httpx.Response) -> Done[int] | Again:
        if not response.is_success:
            await response.aread()
            return receiving.exchange.answered(response)
        with receiving.received() as part:
            async for piece in response.aiter_bytes():
                await asyncio.to_thread(part.take, piece)
            return part.finish()

    async def _current_token(self) -> str:
        token = self._token if isinstance(self._token, str) else self._token()
        return await token if inspect.isawaitable(token) else token

    publish_work = AsyncSent(calls.publish_work)
    validate_work = AsyncSent(calls.validate_work)
    list_work = AsyncSent(calls.list_work)
    get_work = AsyncSent(calls.get_work)
    award = AsyncSent(calls.award)
    claim = AsyncSent(calls.claim)
    cancel_work = AsyncSent(calls.cancel_work)
    list_contracts = AsyncSent(calls.list_contracts)
    get_contract = AsyncSent(calls.get_contract)
    submit_output = AsyncSent(calls.submit_output)
    list_attempts = AsyncSent(calls.list_attempts)
    get_attempt = AsyncSent(calls.get_attempt)
    finalize = AsyncSent(calls.finalize)
    cancel_contract = AsyncSent(calls.cancel_contract)
    list_outcomes = AsyncSent(calls.list_outcomes)
    get_outcome = AsyncSent(calls.get_outcome)
    metrics_catalog = AsyncSent(calls.metrics_catalog)
    domains = AsyncSent(calls.domains)
    domain = AsyncSent(calls.domain)
    infer_domain = AsyncSent(calls.infer_domain)
    list_holds = AsyncSent(calls.list_holds)
    get_hold = AsyncSent(calls.get_hold)
    decide_hold = AsyncSent(calls.decide_hold)
    list_rules = AsyncSent(calls.list_rules)
    get_profile = AsyncSent(calls.get_profile)
    list_settlements = AsyncSent(calls.list_settlements)
    get_settlement = AsyncSent(calls.get_settlement)
    reverse_settlement = AsyncSent(calls.reverse_settlement)
    breakdown = AsyncSent(calls.breakdown)
    trial_balance = AsyncSent(calls.trial_balance)
    get_account = AsyncSent(calls.get_account)
    list_account_entries = AsyncSent(calls.list_account_entries)
    post_transaction = AsyncSent(calls.post_transaction)


async def _read_pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    """What is left of a file."""
    while piece := await asyncio.to_thread(file.read, PIECE):
        yield piece
