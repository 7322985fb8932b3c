"""Function that builds the call of a batch verification, and the lines of its answer."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from aex_client.call import Call, build_post, encode_json_body
from aex_client.endpoints import Service
from aex_client.views import VerificationView, View
from aex_models.batch import BatchOutput, BatchSummary
from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation

_WAIT_S = 130.0
"""Seconds that the service may take for one output, in addition to the client's time limit."""


class SharedMembers(TypedDict, total=False):
    """Members that all outputs of a batch share, besides the criteria."""

    input: Mapping[str, Any] | None
    evaluation: Evaluation | Mapping[str, Any] | None
    domain: str | None
    platform_latency_ms: float | None
    execution_metadata: Mapping[str, Any] | None


class BatchLineView(View):
    """A line of the answer to a batch: a result or a problem with its index, or the summary alone."""

    index: int | None = None
    id: str | int | None = None
    result: VerificationView | None = None
    problem: dict[str, Any] | None = None
    summary: BatchSummary | None = None


def verify_batch(
    success_criteria: SuccessCriteria | Mapping[str, Any],
    outputs: Iterable[BatchOutput | Mapping[str, Any]],
    **shared: Unpack[SharedMembers],
) -> Call[BatchLineView]:
    """Verify outputs by the same criteria (consumer), at most 1,000 in 10 MB.

    Read it with a client's `rows`. Each output is a mapping `{id?, output, execution_metadata?, evaluation?}`, whose
    members replace the shared ones. A client's method `verify_batch` takes any number of outputs.
    """
    return build_batch_call(encode_shared_line(success_criteria, shared), map(encode_json_body, outputs))


def encode_shared_line(success_criteria: SuccessCriteria | Mapping[str, Any], shared: SharedMembers) -> bytes:
    """Return the first line of a batch. Members that are None are left out."""
    members = {"success_criteria": success_criteria, **shared}
    return encode_json_body({name: value for name, value in members.items() if value is not None})


def build_batch_call(shared_line: bytes, lines: Iterable[bytes]) -> Call[BatchLineView]:
    """Return the call of a batch of these lines."""
    body = b"\n".join([shared_line, *lines])
    call = build_post(Service.VERIFICATION, "/v1/verify/batch", BatchLineView, body, uses_idempotency_key=False)
    return replace(call, wait_s=_WAIT_S)
