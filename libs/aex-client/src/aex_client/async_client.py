"""The asynchronous client of the four services."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import BinaryIO, Self, TypeVar

import httpx
from httpx_sse import EventSource, SSEError

from aex_client import calls
from aex_client.batches import AsyncBatchMethod
from aex_client.call import Call
from aex_client.call_attempts import (
    FIVE_ATTEMPTS,
    CallAttempts,
    CallPolicy,
    Done,
    RetryPolicy,
    new_idempotency_key,
    random_jitter,
)
from aex_client.endpoints import Endpoints, Service
from aex_client.event_stream import EVENTS_FOLLOW, EventStreamState
from aex_client.files import CHUNK_BYTES, Content, FileDownload, FileUpload, Target
from aex_client.methods import AsyncCallMethod
from aex_client.rows import RowStreamState
from aex_client.views import Page
from aex_models.contract import UploadedArtifact
from aex_models.contract_events import ContractEvent

T = TypeVar("T")


class AsyncAexClient(AsyncBatchMethod):
    """An `AexClient` whose methods are coroutines. Its token function may be a coroutine function too."""

    def __init__(
        self,
        endpoints: Endpoints,
        token: str | Callable[[], str | Awaitable[str]],
        *,
        retries: RetryPolicy = FIVE_ATTEMPTS,
        timeout_s: float = 30.0,
        http: httpx.AsyncClient | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random_jitter,
        new_key: Callable[[], str] = new_idempotency_key,
    ) -> None:
        self._policy = CallPolicy(endpoints, retries, timeout_s, jitter, new_key)
        self._token = token
        self._http = http or httpx.AsyncClient()
        self._owns_http = http is None
        self._sleep = sleep

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, except those of an HTTP client that was passed as `http`."""
        if self._owns_http:
            await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """Send a call, with retries, and return its parsed answer; see `AexClient.send`."""
        attempts = CallAttempts(self._policy, call)

        async def attempt(token: str) -> Done[T] | float:
            return attempts.parse_answer_or_plan_retry(
                await self._http.send(attempts.count_attempt_and_build_request(token))
            )

        return await self._repeat(attempts, attempt)

    async def _repeat(self, attempts: CallAttempts[T], attempt: Callable[[str], Awaitable[Done[T] | float]]) -> T:
        """Call `attempt` with the current token until it returns the answer, and pause in between."""
        while True:
            token = await self._current_token()
            try:
                step = await attempt(token)
            except httpx.RequestError as error:
                step = attempts.plan_retry_after_failure(error)
            if isinstance(step, Done):
                return step.value
            await self._sleep(step)

    async def each(self, call: Call[Page[T]]) -> AsyncIterator[T]:
        """Yield all items of a list over its pages; see `AexClient.each`."""
        while True:
            page = await self.send(call)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            call = call.with_cursor(page.next_cursor)

    async def rows(self, call: Call[T]) -> AsyncGenerator[T, None]:
        """Yield the rows of an export; see `AexClient.rows`. Close the generator if you leave it early."""
        stream = RowStreamState(self._policy, call)
        while not stream.is_finished:
            async with aclosing(self._read_rows(stream)) as read:
                async for row in read:
                    yield row
            if not stream.is_finished:
                await self._sleep(stream.pause_s)

    async def _read_rows(self, stream: RowStreamState[T]) -> AsyncGenerator[T, None]:
        """Send one request and yield its rows; after a failure, set the pause before a retry."""
        try:
            async with aclosing(
                await self._http.send(stream.count_attempt_and_build_request(await self._current_token()), stream=True)
            ) as response:
                if not response.is_success:
                    await response.aread()
                    stream.plan_retry_after_refusal(response)
                    return
                async for line in response.aiter_lines():
                    yield stream.parse_row(line)
                stream.is_finished = True
        except httpx.RequestError as error:
            stream.plan_retry_after_failure(error)

    async def events(self, contract_id: str, after: int | None = None) -> AsyncGenerator[ContractEvent, None]:
        """Yield a contract's events as they happen; see `AexClient.events`.

        Close the generator if you leave it early.
        """
        stream = EventStreamState(self._policy, contract_id, after)
        while not stream.is_finished:
            async with aclosing(self._read_events(stream)) as events:
                async for event in events:
                    yield event
            await self._sleep(stream.pause_s)

    async def _read_events(self, stream: EventStreamState) -> AsyncGenerator[ContractEvent, None]:
        """Connect once and yield the events received; set the pause before the next connection."""
        request = stream.reset_pause_and_build_request(await self._current_token())
        try:
            async with aclosing(await self._http.send(request, stream=True)) as response:
                if response.status_code != EVENTS_FOLLOW:
                    await response.aread()
                    stream.finish_or_plan_retry(response)
                    return
                async with aclosing(EventSource(response).aiter_sse()) as frames:
                    async for frame in frames:
                        event = stream.record_and_parse_frame(frame)
                        if event is not None:
                            yield event
                            if stream.is_finished:
                                return
                stream.plan_reconnection()
        except SSEError as error:  # a subclass of the next one
            raise stream.to_answer_not_understood(error) from error
        except httpx.RequestError as error:
            stream.plan_retry_after_failure(error)

    async def upload_artifact(self, content: Content, *, service: Service = Service.VERIFICATION) -> UploadedArtifact:
        """Upload a file in constant memory; see `AexClient.upload_artifact`."""
        upload = FileUpload(self._policy, content, service)

        async def attempt(token: str) -> Done[UploadedArtifact] | float:
            with upload.open_content() as file:
                request = upload.count_attempt_and_build_request(token, file, _read_chunks(file))
                return upload.attempts.parse_answer_or_plan_retry(await self._http.send(request))

        return await self._repeat(upload.attempts, attempt)

    async def download_artifact(self, sha256: str, to: Target, *, service: Service = Service.VERIFICATION) -> int:
        """Download a file, check it and return its size in bytes; see `AexClient.download_artifact`."""
        download = FileDownload(self._policy, sha256, to, service)

        async def attempt(token: str) -> Done[int] | float:
            async with aclosing(
                await self._http.send(download.attempts.count_attempt_and_build_request(token), stream=True)
            ) as response:
                if not response.is_success:
                    await response.aread()
                    return download.attempts.parse_answer_or_plan_retry(response)
                with download.open_partial_file() as part:
                    async for chunk in response.aiter_bytes():
                        await asyncio.to_thread(part.write, chunk)
                    return part.verify_digest_and_flush()

        return await self._repeat(download.attempts, attempt)

    async def _current_token(self) -> str:
        token = self._token if isinstance(self._token, str) else self._token()
        return await token if inspect.isawaitable(token) else token

    publish_work = AsyncCallMethod(calls.publish_work)
    validate_work = AsyncCallMethod(calls.validate_work)
    list_work = AsyncCallMethod(calls.list_work)
    get_work = AsyncCallMethod(calls.get_work)
    award = AsyncCallMethod(calls.award)
    claim = AsyncCallMethod(calls.claim)
    cancel_work = AsyncCallMethod(calls.cancel_work)
    list_contracts = AsyncCallMethod(calls.list_contracts)
    get_contract = AsyncCallMethod(calls.get_contract)
    submit_output = AsyncCallMethod(calls.submit_output)
    verify = AsyncCallMethod(calls.verify)
    list_attempts = AsyncCallMethod(calls.list_attempts)
    get_attempt = AsyncCallMethod(calls.get_attempt)
    finalize = AsyncCallMethod(calls.finalize)
    cancel_contract = AsyncCallMethod(calls.cancel_contract)
    decline_contract = AsyncCallMethod(calls.decline_contract)
    list_outcomes = AsyncCallMethod(calls.list_outcomes)
    get_outcome = AsyncCallMethod(calls.get_outcome)
    metrics_catalog = AsyncCallMethod(calls.metrics_catalog)
    domains = AsyncCallMethod(calls.domains)
    domain = AsyncCallMethod(calls.domain)
    infer_domain = AsyncCallMethod(calls.infer_domain)
    list_holds = AsyncCallMethod(calls.list_holds)
    get_hold = AsyncCallMethod(calls.get_hold)
    decide_hold = AsyncCallMethod(calls.decide_hold)
    list_rules = AsyncCallMethod(calls.list_rules)
    get_profile = AsyncCallMethod(calls.get_profile)
    list_settlements = AsyncCallMethod(calls.list_settlements)
    get_settlement = AsyncCallMethod(calls.get_settlement)
    reverse_settlement = AsyncCallMethod(calls.reverse_settlement)
    breakdown = AsyncCallMethod(calls.breakdown)
    trial_balance = AsyncCallMethod(calls.trial_balance)
    get_account = AsyncCallMethod(calls.get_account)
    list_account_entries = AsyncCallMethod(calls.list_account_entries)
    post_transaction = AsyncCallMethod(calls.post_transaction)


async def _read_chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    """Yield the file from its current position on, in chunks that a thread reads."""
    while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
        yield chunk
