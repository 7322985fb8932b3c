"""The synchronous client of the four services."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from types import TracebackType
from typing import Self, TypeVar

import httpx
from httpx_sse import EventSource, SSEError

from aex_client import calls
from aex_client.batches import BatchMethod
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
from aex_client.files import Content, FileDownload, FileUpload, Target, read_chunks
from aex_client.methods import CallMethod
from aex_client.rows import RowStreamState
from aex_client.views import Page
from aex_models.contract import UploadedArtifact
from aex_models.contract_events import ContractEvent

T = TypeVar("T")


class AexClient(BatchMethod):
    """A synchronous client of the four services, with one method for each endpoint.

    Threads may share it. Close it, or use it in a `with` statement. Methods repeat a failed request by `retries`, and
    raise a `ProblemError`, `ConnectionFailed` or `AnswerNotUnderstood`.
    `token`: a bearer token, or a function that returns one and is called before each request.
    `timeout_s`: time limit of an answer. The time that a call asks the service to wait is added.
    `http`: an HTTP client to use instead of a new one; `close` leaves it open.
    `sleep`, `jitter`, `new_key`: functions for pauses, their variation in [0, 1), and idempotency keys.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        token: str | Callable[[], str],
        *,
        retries: RetryPolicy = FIVE_ATTEMPTS,
        timeout_s: float = 30.0,
        http: httpx.Client | None = None,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random_jitter,
        new_key: Callable[[], str] = new_idempotency_key,
    ) -> None:
        self._policy = CallPolicy(endpoints, retries, timeout_s, jitter, new_key)
        self._token = token
        self._http = http or httpx.Client()
        self._owns_http = http is None
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, except those of an HTTP client that was passed as `http`."""
        if self._owns_http:
            self._http.close()

    def send(self, call: Call[T]) -> T:
        """Send a call, with retries, and return its parsed answer.

        To use your own idempotency key, write `send(calls.claim(id).with_key(key))`.
        """
        attempts = CallAttempts(self._policy, call)
        return self._repeat(
            attempts,
            lambda token: attempts.parse_answer_or_plan_retry(
                self._http.send(attempts.count_attempt_and_build_request(token))
            ),
        )

    def _repeat(self, attempts: CallAttempts[T], attempt: Callable[[str], Done[T] | float]) -> T:
        """Call `attempt` with the current token until it returns the answer, and pause in between."""
        while True:
            token = self._current_token()
            try:
                step = attempt(token)
            except httpx.RequestError as error:
                step = attempts.plan_retry_after_failure(error)
            if isinstance(step, Done):
                return step.value
            self._sleep(step)

    def each(self, call: Call[Page[T]]) -> Iterator[T]:
        """Yield all items of a list, and request further pages when they are needed.

        For example: `each(calls.list_settlements(domain="news"))`.
        """
        while True:
            page = self.send(call)
            yield from page.items
            if page.next_cursor is None:
                return
            call = call.with_cursor(page.next_cursor)

    def rows(self, call: Call[T]) -> Iterator[T]:
        """Yield the rows of an export, such as `calls.export_outcomes()`, in constant memory.

        The request is repeated only before the first row. Raises the errors of the other methods, and
        `ConnectionFailed` if the answer breaks off after the first row.
        """
        stream = RowStreamState(self._policy, call)
        while not stream.is_finished:
            yield from self._read_rows(stream)
            if not stream.is_finished:
                self._sleep(stream.pause_s)

    def _read_rows(self, stream: RowStreamState[T]) -> Iterator[T]:
        """Send one request and yield its rows; after a failure, set the pause before a retry."""
        try:
            with closing(
                self._http.send(stream.count_attempt_and_build_request(self._current_token()), stream=True)
            ) as response:
                if not response.is_success:
                    response.read()
                    stream.plan_retry_after_refusal(response)
                    return
                for line in response.iter_lines():
                    yield stream.parse_row(line)
                stream.is_finished = True
        except httpx.RequestError as error:
            stream.plan_retry_after_failure(error)

    def events(self, contract_id: str, after: int | None = None) -> Iterator[ContractEvent]:
        """Yield a contract's events as they happen, until the contract ends; start after number `after`.

        It reconnects after a failure or the end of a stream, without losing or repeating events. Raises the errors of
        the other methods after too many consecutive failures; each received frame resets their number.
        """
        stream = EventStreamState(self._policy, contract_id, after)
        while not stream.is_finished:
            yield from self._read_events(stream)
            self._sleep(stream.pause_s)

    def _read_events(self, stream: EventStreamState) -> Iterator[ContractEvent]:
        """Connect once and yield the events received; set the pause before the next connection."""
        request = stream.reset_pause_and_build_request(self._current_token())
        try:
            with closing(self._http.send(request, stream=True)) as response:
                if response.status_code != EVENTS_FOLLOW:
                    response.read()
                    stream.finish_or_plan_retry(response)
                    return
                for frame in EventSource(response).iter_sse():
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

    def upload_artifact(self, content: Content, *, service: Service = Service.VERIFICATION) -> UploadedArtifact:
        """Upload a file in constant memory: an agent's artifact, or a consumer's data to work-publisher.

        A candidate or a work refers to the file by the `sha256` of the answer. A failed upload is repeated from the
        beginning. Raises the errors of the other methods, `OSError` for an unreadable file, and `ValueError` for a
        stream without seek.
        """
        upload = FileUpload(self._policy, content, service)

        def attempt(token: str) -> Done[UploadedArtifact] | float:
            with upload.open_content() as file:
                return upload.attempts.parse_answer_or_plan_retry(
                    self._http.send(upload.count_attempt_and_build_request(token, file, read_chunks(file)))
                )

        return self._repeat(upload.attempts, attempt)

    def download_artifact(self, sha256: str, to: Target, *, service: Service = Service.VERIFICATION) -> int:
        """Download a file to a path or an open file, check its digest, and return its size in bytes.

        A failed download is repeated. A path holds either the complete new file or its former content.
        """
        download = FileDownload(self._policy, sha256, to, service)

        def attempt(token: str) -> Done[int] | float:
            with closing(
                self._http.send(download.attempts.count_attempt_and_build_request(token), stream=True)
            ) as response:
                if not response.is_success:
                    response.read()
                    return download.attempts.parse_answer_or_plan_retry(response)
                with download.open_partial_file() as part:
                    for chunk in response.iter_bytes():
                        part.write(chunk)
                    return part.verify_digest_and_flush()

        return self._repeat(download.attempts, attempt)

    def _current_token(self) -> str:
        return self._token if isinstance(self._token, str) else self._token()

    publish_work = CallMethod(calls.publish_work)
    validate_work = CallMethod(calls.validate_work)
    list_work = CallMethod(calls.list_work)
    get_work = CallMethod(calls.get_work)
    award = CallMethod(calls.award)
    claim = CallMethod(calls.claim)
    cancel_work = CallMethod(calls.cancel_work)
    list_contracts = CallMethod(calls.list_contracts)
    get_contract = CallMethod(calls.get_contract)
    submit_output = CallMethod(calls.submit_output)
    verify = CallMethod(calls.verify)
    list_attempts = CallMethod(calls.list_attempts)
    get_attempt = CallMethod(calls.get_attempt)
    finalize = CallMethod(calls.finalize)
    cancel_contract = CallMethod(calls.cancel_contract)
    decline_contract = CallMethod(calls.decline_contract)
    list_outcomes = CallMethod(calls.list_outcomes)
    get_outcome = CallMethod(calls.get_outcome)
    metrics_catalog = CallMethod(calls.metrics_catalog)
    domains = CallMethod(calls.domains)
    domain = CallMethod(calls.domain)
    infer_domain = CallMethod(calls.infer_domain)
    list_holds = CallMethod(calls.list_holds)
    get_hold = CallMethod(calls.get_hold)
    decide_hold = CallMethod(calls.decide_hold)
    list_rules = CallMethod(calls.list_rules)
    get_profile = CallMethod(calls.get_profile)
    list_settlements = CallMethod(calls.list_settlements)
    get_settlement = CallMethod(calls.get_settlement)
    reverse_settlement = CallMethod(calls.reverse_settlement)
    breakdown = CallMethod(calls.breakdown)
    trial_balance = CallMethod(calls.trial_balance)
    get_account = CallMethod(calls.get_account)
    list_account_entries = CallMethod(calls.list_account_entries)
    post_transaction = CallMethod(calls.post_transaction)
