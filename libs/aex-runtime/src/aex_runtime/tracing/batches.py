"""Spans on their way out: gathered, and exported by a thread, so that no request waits for an exporter or fails by it.

The SDK's own batches wait thirty seconds for their exporter at the end, which is longer than a service has to stop.
"""

import threading
from collections import deque
from dataclasses import dataclass

import structlog
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from aex_runtime.failures import describe_failure
from aex_runtime.tracing.released import released

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class BatchPolicy:
    """How many spans at once, how soon, and how many may wait."""

    batch: int = 512
    every_s: float = 1.0
    """How long a span waits at most, while its exporter keeps up; a killed process loses what waits."""
    max_waiting: int = 10_000
    """Further spans are lost, and counted in a log line."""
    stop_s: float = 3.0
    """What the end of the process waits for the exporter."""


class Batches(SpanProcessor):
    """Hands ended spans to an exporter, on a thread of its own that starts with the first of them."""

    def __init__(self, exporter: SpanExporter, policy: BatchPolicy | None = None) -> None:
        self._exporter = exporter
        self._policy = policy or BatchPolicy()
        self._waiting: deque[ReadableSpan] = deque()
        self._dropped = 0
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._starting = threading.Lock()
        self._exporting = threading.Lock()
        self._thread: threading.Thread | None = None

    def on_end(self, span: ReadableSpan) -> None:
        """Take a span; never blocks."""
        if self._stopping.is_set() or len(self._waiting) >= self._policy.max_waiting:
            self._dropped += 1
            return
        self._waiting.append(span)
        if self._thread is None:
            self._start()
        if len(self._waiting) >= self._policy.batch:
            self._wake.set()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 the exporter's own deadline bounds it
        """Export what waits, now."""
        self._export()
        return True

    def shutdown(self) -> None:
        """Export what waits, as long as `stop_s`; what is left then is lost."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(self._policy.stop_s)
        self._exporter.shutdown()  # where it still tries, it gives up now

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="spans", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(self._policy.every_s)
            self._wake.clear()
            self._export()
        self._export()

    def _export(self) -> None:
        with self._exporting:
            for _ in range(1 + len(self._waiting) // self._policy.batch):
                batch = [released(self._waiting.popleft()) for _ in range(min(len(self._waiting), self._policy.batch))]
                if batch:
                    self._hand_over(batch)
        dropped, self._dropped = self._dropped, 0
        if dropped:
            _log.warning("spans_lost", spans=dropped, reason="more than can wait")

    def _hand_over(self, batch: list[ReadableSpan]) -> None:
        try:
            done = self._exporter.export(batch)
        except Exception as error:  # noqa: BLE001 whatever it is, the next spans are to be exported
            _log.warning("spans_lost", spans=len(batch), reason=describe_failure(error))
        else:
            if done is not SpanExportResult.SUCCESS:
                _log.warning("spans_lost", spans=len(batch), reason="the exporter failed")
