"""The state of a contract's event stream over several connections, without input and output."""

import httpx
import structlog
from httpx_sse import ServerSentEvent, SSEError

from aex_client.call import Call, build_answer_parser, build_path
from aex_client.call_attempts import CallPolicy, build_connection_failed, parse_answer
from aex_client.endpoints import Service
from aex_client.errors import AexError, AnswerNotUnderstood, ConnectionFailed, parse_problem
from aex_models.contract_events import FINAL_EVENTS, ContractEvent

_READ_TIMEOUT_S = 60.0
"""Longest time without a frame, in which the service sends several heartbeats."""
_PAUSE_S = 1.0
EVENTS_FOLLOW = 200
_NO_CONTENT = 204
_log = structlog.get_logger(__name__)


class EventStreamState:
    """The progress of reading one contract's events: the last event, failures and the next pause.

    The events begin after number `after`. The client's `RetryPolicy` bounds consecutive failures; each received frame
    resets their number. `is_finished`: the contract has ended. `pause_s`: seconds to wait before the next connection.
    """

    def __init__(self, policy: CallPolicy, contract_id: str, after: int | None) -> None:
        self._policy = policy
        self._contract_id = contract_id
        path = build_path("/v1/contracts/{}/events", contract_id)
        self._call = Call(Service.VERIFICATION, "GET", path, build_answer_parser(ContractEvent))
        self._last = after
        self._failures = 0
        self._received_frame = False
        self._reconnect_s = _PAUSE_S
        self.is_finished = False
        self.pause_s = 0.0
        """Seconds to wait before the next connection."""

    def reset_pause_and_build_request(self, token: str) -> httpx.Request:
        """Reset the pause and return the request of the next connection, which resumes after the last event."""
        self._received_frame, self.pause_s = False, 0.0
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        headers |= {"Last-Event-ID": str(self._last)} if self._last is not None else {}
        return self._policy.build_request(self._call, token, max(self._policy.timeout_s, _READ_TIMEOUT_S), headers)

    def finish_or_plan_retry(self, response: httpx.Response) -> None:
        """Handle an answer that is no stream: finish for 204, else count a failure and set the pause.

        Raises `ProblemError` if no retry may follow.
        """
        if response.status_code == _NO_CONTENT:
            self.is_finished = True
        else:
            self._plan_retry(parse_problem(response.status_code, response.headers, response.content))

    def record_and_parse_frame(self, frame: ServerSentEvent) -> ContractEvent | None:
        """Reset the number of failures, remember the frame's event as the last one, and return it.

        None means that the frame holds no event or an earlier one. Sets `is_finished` at the event that ends the
        contract.
        """
        self._received_frame, self._failures = True, 0
        if frame.retry is not None:
            self._reconnect_s = min(frame.retry / 1_000, self._policy.retries.longest_wait_s)
        if not frame.data:
            return None
        event = parse_answer(self._call, frame.data.encode(), "fields of an event")
        if self._last is not None and event.seq <= self._last:
            return None
        self._last = event.seq
        self.is_finished = event.type in FINAL_EVENTS
        return event

    def plan_reconnection(self) -> None:
        """Set the pause before a reconnection after a stream's end, unless the contract has ended.

        Services end streams after some minutes. A stream without any frame counts as a failure, and `ConnectionFailed`
        is raised if no retry may follow.
        """
        if not self._received_frame:
            self._plan_retry(ConnectionFailed(f"GET {self._call.path}: the stream ended without a frame"))
        elif not self.is_finished:
            self._set_pause(self._reconnect_s * (1 + self._policy.jitter()) / 2, "stream_ended")

    def plan_retry_after_failure(self, error: httpx.RequestError) -> None:
        """Count a failed connection and set the pause. Raises `ConnectionFailed` if no retry may follow."""
        self._plan_retry(build_connection_failed(self._call, error))

    def to_answer_not_understood(self, error: SSEError) -> AnswerNotUnderstood:
        """Return the exception for an answer that is no event stream, for the caller to raise."""
        return AnswerNotUnderstood(f"GET {self._call.path}: {error}")

    def _plan_retry(self, error: AexError) -> None:
        self._failures += 1
        self._set_pause(
            self._policy.compute_pause_s_or_raise(self._failures, error), getattr(error, "code", type(error).__name__)
        )

    def _set_pause(self, pause_s: float, reason: str) -> None:
        self.pause_s = pause_s
        _log.info(
            "aex_events_resumed",
            contract_id=self._contract_id,
            after=self._last,
            failures=self._failures,
            pause_s=round(pause_s, 3),
            reason=reason,
        )
