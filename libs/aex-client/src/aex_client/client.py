"""The client for programs that block."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from types import TracebackType
from typing import Self, TypeVar

import httpx
from httpx_sse import EventSource, SSEError

from aex_client import calls
from aex_client.call import Call
from aex_client.endpoints import Endpoints, Service
from aex_client.exchange import Again, Done, Exchange, Manner, fresh_key, system_jitter
from aex_client.files import Content, Receiving, Sending, Target, read_pieces
from aex_client.following import EVENTS_FOLLOW, Following
from aex_client.methods import Sent
from aex_client.retries import FIVE_ATTEMPTS, RetryPolicy
from aex_client.rows import Rows
from aex_client.views import Page
from aex_models.artifacts import UploadedArtifact
from aex_models.contract_events import ContractEvent

T = TypeVar("T")


class AexClient:
    """Calls the four services. Safe to share between threads; close it, or use it in a `with` statement.

    `token`: a bearer token, or a function that gives one (asked before each request, so that it may renew it).
    `timeout_s`: how long an answer may take, on top of what a call asks the service to wait. `http`: a client of your
    own, which stays yours to close. `sleep`, `jitter`, `new_key`: how to wait between repeats, by how much to spread
    them, and how to name a write.
    Methods raise `ProblemError` and its kinds, `ConnectionFailed`, `AnswerNotUnderstood`.
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
        jitter: Callable[[], float] = system_jitter,
        new_key: Callable[[], str] = fresh_key,
    ) -> None:
        self._manner = Manner(endpoints, retries, timeout_s, jitter, new_key)
        self._token = token
        self._http = http or httpx.Client()
        self._owns_http = http is None
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, unless the HTTP client was given."""
        if self._owns_http:
            self._http.close()

    def send(self, call: Call[T]) -> T:
        """Send any call, such as one under an idempotency key of your own: `send(calls.claim(id).with_key(key))`."""
        exchange = Exchange(self._manner, call)
        while True:
            request = exchange.request(self._current_token())
            try:
                step = exchange.answered(self._http.send(request))
            except httpx.RequestError as error:
                step = exchange.unanswered(error)
            if isinstance(step, Done):
                return step.value
            self._sleep(step.pause_s)

    def each(self, call: Call[Page[T]]) -> Iterator[T]:
        """All items of a list, page after page: `each(calls.list_settlements(domain="news"))`."""
        while True:
            page = self.send(call)
            yield from page.items
            if page.next_cursor is None:
                return
            call = call.after(page.next_cursor)

    def rows(self, call: Call[T]) -> Iterator[T]:
        """A long answer row by row, in constant memory: `rows(calls.export_settlements(domain="news"))`.

        Raises like the methods, and `ConnectionFailed` where the answer breaks off: what came was not all.
        """
        rows = Rows(self._manner, call)
        while not rows.over:
            yield from self._read_rows(rows)
            if not rows.over:
                self._sleep(rows.pause_s)

    def _read_rows(self, rows: Rows[T]) -> Iterator[T]:
        """The rows of one connection."""
        try:
            with closing(self._http.send(rows.request(self._current_token()), stream=True)) as response:
                if not response.is_success:
                    response.read()
                    rows.refused(response)
                    return
                for line in response.iter_lines():
                    yield rows.row(line)
                rows.over = True
        except httpx.RequestError as error:
            rows.broken(error)

    def events(self, contract_id: str, after: int | None = None) -> Iterator[ContractEvent]:
        """A contract's events as they happen, up to the one that ends it; from after the event with `seq` `after`.

        Comes back by itself where a stream ends or breaks, and misses nothing. Raises like the methods, but a failure
        only counts while nothing is heard.
        """
        following = Following(self._manner, contract_id, after)
        while not following.over:
            yield from self._connection(following)
            self._sleep(following.pause_s)

    def _connection(self, following: Following) -> Iterator[ContractEvent]:
        """The events of one connection."""
        request = following.request(self._current_token())
        try:
            with closing(self._http.send(request, stream=True)) as response:
                if response.status_code != EVENTS_FOLLOW:
                    response.read()
                    following.answered(response)
                    return
                for frame in EventSource(response).iter_sse():
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

    def upload_artifact(self, content: Content, *, service: Service = Service.VERIFICATION) -> UploadedArtifact:
        """Upload a file (an agent's artifact; with `Service.WORK_PUBLISHER` a consumer's data), in constant memory.

        A candidate, or a work, names it by the answer's `sha256`. Raises like the methods, `OSError` for a path that
        leads to no file, `ValueError` for a stream that cannot be rewound: what fails is sent again from its beginning.
        """
        sending = Sending(self._manner, content, service)
        while True:
            with sending.opened() as file:
                request = sending.request(self._current_token(), file, read_pieces(file))
                try:
                    step = sending.exchange.answered(self._http.send(request))
                except httpx.RequestError as error:
                    step = sending.exchange.unanswered(error)
            if isinstance(step, Done):
                return step.value
            self._sleep(step.pause_s)

    def download_artifact(self, sha256: str, to: Target, *, service: Service = Service.VERIFICATION) -> int:
        """Download a file to a path or into an open file, in constant memory, and check its digest; answers its size.

        What breaks off is asked for again, and a path holds the whole file or what it held before. Raises like the
        methods.
        """
        receiving = Receiving(self._manner, sha256, to, service)
        while True:
            try:
                request = receiving.exchange.request(self._current_token())
                with closing(self._http.send(request, stream=True)) as response:
                    step = self._received(receiving, response)
            except httpx.RequestError as error:
                step = receiving.exchange.unanswered(error)
            if isinstance(step, Done):
                return step.value
            self._sleep(step.pause_s)

    def _received(self, receiving: Receiving, response: httpx.Response) -> Done[int] | Again:
        if not response.is_success:
            response.read()
            return receiving.exchange.answered(response)
        with receiving.received() as part:
            for piece in response.iter_bytes():
                part.take(piece)
            return part.finish()

    def _current_token(self) -> str:
        return self._token if isinstance(self._token, str) else self._token()

    publish_work = Sent(calls.publish_work)
    validate_work = Sent(calls.validate_work)
    list_work = Sent(calls.list_work)
    get_work = Sent(calls.get_work)
    award = Sent(calls.award)
    claim = Sent(calls.claim)
    cancel_work = Sent(calls.cancel_work)
    list_contracts = Sent(calls.list_contracts)
    get_contract = Sent(calls.get_contract)
    submit_output = Sent(calls.submit_output)
    list_attempts = Sent(calls.list_attempts)
    get_attempt = Sent(calls.get_attempt)
    finalize = Sent(calls.finalize)
    cancel_contract = Sent(calls.cancel_contract)
    list_outcomes = Sent(calls.list_outcomes)
    get_outcome = Sent(calls.get_outcome)
    metrics_catalog = Sent(calls.metrics_catalog)
    domains = Sent(calls.domains)
    domain = Sent(calls.domain)
    infer_domain = Sent(calls.infer_domain)
    list_holds = Sent(calls.list_holds)
    get_hold = Sent(calls.get_hold)
    decide_hold = Sent(calls.decide_hold)
    list_rules = Sent(calls.list_rules)
    get_profile = Sent(calls.get_profile)
    list_settlements = Sent(calls.list_settlements)
    get_settlement = Sent(calls.get_settlement)
    reverse_settlement = Sent(calls.reverse_settlement)
    breakdown = Sent(calls.breakdown)
    trial_balance = Sent(calls.trial_balance)
    get_account = Sent(calls.get_account)
    list_account_entries = Sent(calls.list_account_entries)
    post_transaction = Sent(calls.post_transaction)
