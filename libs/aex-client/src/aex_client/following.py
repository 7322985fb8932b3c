"""A contract's events, over as many connections as it takes: what to ask, what an answer means, when to come back."""

import httpx
import structlog
from httpx_sse import ServerSentEvent, SSEError
from pydantic import TypeAdapter, ValidationError

from aex_client.call import place
from aex_client.endpoints import Service
from aex_client.errors import AexError, AnswerNotUnderstood, ConnectionFailed, problem_of
from aex_client.exchange import CONNECT_S, Manner, unanswered
from aex_models.contract_events import FINAL_EVENTS, ContractEvent

_SILENCE_S = 60.0
"""The service says that it is there several times in this time."""
_PAUSE_S = 1.0
EVENTS_FOLLOW = 200
_NO_CONTENT = 204
_EVENT: TypeAdapter[ContractEvent] = TypeAdapter(ContractEvent)
_log = structlog.get_logger(__name__)


class Following:
    """One contract, followed from after event `after` to its end. No input, no output: both clients carry it.

    Failures in a row are bounded by the client's `RetryPolicy`, and forgotten as soon as something is heard.
    """

    def __init__(self, manner: Manner, contract_id: str, after: int | None) -> None:
        self._manner = manner
        self._contract_id = contract_id
        self._path = place("/v1/contracts/{}/events", contract_id)
        self._last = after
        self._failures = 0
        self._heard = False
        self._comes_back_s = _PAUSE_S
        self.over = False
        """Whether nothing more will come."""
        self.pause_s = 0.0
        """How long to wait before the next connection."""

    def request(self, token: str) -> httpx.Request:
        """The request that opens the next connection."""
        self._heard, self.pause_s = False, 0.0
        headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream", "User-Agent": "aex-client"}
        headers |= {"Cache-Control": "no-store"}
        headers |= {"Last-Event-ID": str(self._last)} if self._last is not None else {}
        timeout = httpx.Timeout(max(self._manner.timeout_s, _SILENCE_S), connect=CONNECT_S)
        url = self._manner.endpoints.url(Service.VERIFICATION, self._path)
        return httpx.Request("GET", url, headers=headers, extensions={"timeout": timeout.as_dict()})

    def answered(self, response: httpx.Response) -> None:
        """An answer without events, once it was read: nothing more will come, or to be tried again.

        Raises `ProblemError`.
        """
        if response.status_code == _NO_CONTENT:
            self.over = True
        else:
            self._again(problem_of(response.status_code, response.headers, response.content))

    def heard(self, frame: ServerSentEvent) -> ContractEvent | None:
        """The event that a frame holds; None for one without, and for what was told before."""
        self._heard, self._failures = True, 0
        if frame.retry is not None:
            self._comes_back_s = min(frame.retry / 1_000, self._manner.retries.longest_wait_s)
        if not frame.data:
            return None
        try:
            event = _EVENT.validate_json(frame.data, extra="ignore")
        except ValidationError as error:
            reason = f"GET {self._path}: {error.error_count()} fields of an event differ from what is known"
            raise AnswerNotUnderstood(reason) from error
        if self._last is not None and event.seq <= self._last:
            return None
        self._last = event.seq
        self.over = event.type in FINAL_EVENTS
        return event

    def ended(self) -> None:
        """The stream came to its end: to be followed by another where the contract did not.

        Services end streams after some minutes. One that has said nothing at all counts as a failure.
        """
        if not self._heard:
            self._again(ConnectionFailed(f"GET {self._path}: the stream ended before it began"))
        elif not self.over:
            self._pause(self._comes_back_s * (1 + self._manner.jitter()) / 2, "stream_ended")

    def broken(self, error: httpx.RequestError) -> None:
        """No answer, or one that broke off: to be tried again. Raises `ConnectionFailed`."""
        self._again(unanswered(f"GET {self._path}", error))

    def not_events(self, error: SSEError) -> AnswerNotUnderstood:
        """The error for an answer that is something else."""
        return AnswerNotUnderstood(f"GET {self._path}: {error}")

    def _again(self, error: AexError) -> None:
        self._failures += 1
        pause_s = self._manner.retries.pause_s(self._failures, error, self._manner.jitter())
        if pause_s is None:
            raise error
        self._pause(pause_s, getattr(error, "code", type(error).__name__))

    def _pause(self, pause_s: float, reason: str) -> None:
        self.pause_s = pause_s
        _log.info(
            "aex_events_resumed",
            contract_id=self._contract_id,
            after=self._last,
            failures=self._failures,
            pause_s=round(pause_s, 3),
            reason=reason,
        )
