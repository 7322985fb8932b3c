"""A run of custom code as a job of a confined worker: JSON in, JSON out."""

from functools import lru_cache
from typing import Any

from aex_outcomes.sandbox.monty_sandbox import MontySandbox
from aex_outcomes.sandbox.port import CodeFault, Limits

JOB = f"{__name__}:run_code"


@lru_cache(maxsize=1)
def worker_sandbox() -> MontySandbox:
    """The one sandbox of this worker: its interpreter stays warm from job to job."""
    return MontySandbox()


def run_code(payload: dict[str, Any]) -> dict[str, Any]:
    """Run code once.

    `payload`: `code`, `context` (the JSON text of input, output and metadata), `limits` (the fields of `Limits`).
    Returns `{"value", "metrics"}`, or `{"fault": {"kind", "message", "line"}}`. Raises `SandboxUnavailable`.
    """
    try:
        returned = worker_sandbox().run(payload["code"], payload["context"], Limits(**payload["limits"]))
    except CodeFault as fault:
        return {"fault": {"kind": fault.kind, "message": _plain(fault.message), "line": fault.line}}
    return {"value": returned.value, "metrics": dict(returned.metrics)}


def _plain(text: str) -> str:
    """Text that UTF-8 holds."""
    return text.encode("utf-8", "replace").decode()
