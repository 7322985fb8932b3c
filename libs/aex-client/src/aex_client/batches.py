"""Batch verification of any number of outputs: division into batches, and methods of both clients."""

import json
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, Unpack

from aex_client.call import Call, encode_json_body
from aex_client.calls.batches import BatchLineView, SharedMembers, build_batch_call, encode_shared_line
from aex_client.errors import AnswerNotUnderstood, ConnectionFailed, ProblemError, TooLarge, parse_problem
from aex_client.views import VerificationView
from aex_models.batch import MAX_BATCH_BYTES, MAX_OUTPUTS, BatchOutput
from aex_models.criteria import SuccessCriteria

T = TypeVar("T")
_Line = tuple[int, bytes]
"""Index of an output among those given, and its line."""


@dataclass(frozen=True, slots=True)
class VerifiedOutput:
    """The answer to one output of a batch: either its result or the problem for which it has none."""

    index: int
    """Index of the output among those given."""
    id: str | int | None
    result: VerificationView | None = None
    problem: ProblemError | None = None


class BatchQueue:
    """The outputs that still have to be verified, and the batch that is in progress.

    After a broken connection the rest of the batch is sent again, because the service stores nothing.
    """

    def __init__(self, shared_line: bytes, outputs: Iterable[BatchOutput | Mapping[str, Any]]) -> None:
        self._shared_line = shared_line
        self._outputs = enumerate(map(encode_json_body, outputs))
        self._waiting: deque[_Line] = deque()
        self._sent: list[_Line] = []
        self._answered = 0
        self._is_complete = True

    def take_batch(self) -> Call[BatchLineView] | VerifiedOutput | None:
        """Return the call of the next batch; the refusal of an output that fits into none; None at the end."""
        batch: list[_Line] = []
        size = len(self._shared_line)
        while len(batch) < MAX_OUTPUTS and (following := self._take_line()) is not None:
            size += len(following[1]) + 1
            if size > MAX_BATCH_BYTES:
                if not batch:
                    return _refuse_too_large(*following)
                self._waiting.appendleft(following)
                break
            batch.append(following)
        if not batch:
            return None
        self._sent, self._answered, self._is_complete = batch, 0, False
        return build_batch_call(self._shared_line, [line for _, line in batch])

    def _take_line(self) -> _Line | None:
        return self._waiting.popleft() if self._waiting else next(self._outputs, None)

    def read_line(self, line: BatchLineView) -> VerifiedOutput | None:
        """Return the answer to an output; None for the summary.

        Raises `AnswerNotUnderstood` for any other line.
        """
        if line.summary is not None and self._answered == len(self._sent):
            self._is_complete = True
            return None
        if line.index != self._answered or (line.result is None) == (line.problem is None):
            raise AnswerNotUnderstood("POST /v1/verify/batch: a line is missing, or is neither result nor problem")
        index, _ = self._sent[self._answered]
        self._answered += 1
        return VerifiedOutput(index, line.id, line.result, parse_line_problem(line.problem) if line.problem else None)

    def requeue_unanswered_or_raise(self, error: ConnectionFailed) -> None:
        """Keep the outputs without an answer for the next batch. Raises `error` if no output has an answer."""
        if not self._answered:
            raise error
        self._waiting.extendleft(reversed(self._sent[self._answered :]))

    def require_complete(self) -> None:
        """Raise `AnswerNotUnderstood` if the answer ended without its summary."""
        if not self._is_complete:
            raise AnswerNotUnderstood("POST /v1/verify/batch: the answer ended without its summary")


def parse_line_problem(document: Mapping[str, Any]) -> ProblemError:
    """Return the exception for a problem document inside an answer."""
    status = document.get("status")
    retry_after_s = document.get("retry_after_s")
    headers = {} if retry_after_s is None else {"retry-after": str(retry_after_s)}
    return parse_problem(status if isinstance(status, int) else 500, headers, json.dumps(document).encode())


def _refuse_too_large(index: int, line: bytes) -> VerifiedOutput:
    identifier = json.loads(line).get("id")
    limit = f"{MAX_BATCH_BYTES // 1_000_000} MB"
    detail = f"the output and what all outputs share have more than {limit} together; shorten it"
    return VerifiedOutput(index, identifier, problem=TooLarge(TooLarge.STATUS, "body_too_large", detail))


class RowReader(Protocol):
    """A client that reads an answer line by line."""

    def rows(self, call: Call[T], /) -> Iterator[T]: ...


class AsyncRowReader(Protocol):
    """A client that reads an answer line by line, as an asynchronous generator."""

    def rows(self, call: Call[T], /) -> AsyncGenerator[T, None]: ...


class BatchMethod:
    """The method `verify_batch` of the synchronous client."""

    def verify_batch(
        self: RowReader,
        success_criteria: SuccessCriteria | Mapping[str, Any],
        outputs: Iterable[BatchOutput | Mapping[str, Any]],
        **shared: Unpack[SharedMembers],
    ) -> Iterator[VerifiedOutput]:
        """Yield the verdict on each output, in order (consumer), for any number of outputs.

        Each output is a mapping `{id?, output, execution_metadata?, evaluation?}`; `shared` are the keyword arguments
        of `calls.verify_batch`. Outputs are sent in batches of at most 1,000 and 10 MB, one after the other. An
        invalid output has a `problem`, and the others go on. Raises the errors of `rows`, but sends the rest of a
        batch again if its connection breaks.
        """
        queue = BatchQueue(encode_shared_line(success_criteria, shared), outputs)
        while (batch := queue.take_batch()) is not None:
            if isinstance(batch, VerifiedOutput):
                yield batch
                continue
            try:
                for line in self.rows(batch):
                    if (found := queue.read_line(line)) is not None:
                        yield found
                queue.require_complete()
            except ConnectionFailed as error:
                queue.requeue_unanswered_or_raise(error)


class AsyncBatchMethod:
    """The method `verify_batch` of the asynchronous client."""

    async def verify_batch(
        self: AsyncRowReader,
        success_criteria: SuccessCriteria | Mapping[str, Any],
        outputs: Iterable[BatchOutput | Mapping[str, Any]],
        **shared: Unpack[SharedMembers],
    ) -> AsyncGenerator[VerifiedOutput, None]:
        """Yield the verdict on each output; see `AexClient.verify_batch`.

        Close the generator if you leave it early.
        """
        queue = BatchQueue(encode_shared_line(success_criteria, shared), outputs)
        while (batch := queue.take_batch()) is not None:
            if isinstance(batch, VerifiedOutput):
                yield batch
                continue
            try:
                async with aclosing(self.rows(batch)) as lines:
                    async for line in lines:
                        if (found := queue.read_line(line)) is not None:
                            yield found
                queue.require_complete()
            except ConnectionFailed as error:
                queue.requeue_unanswered_or_raise(error)
