"""The Python SDK of AEX Outcomes: sync and async clients, and a revision loop on live contracts."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aex_client.async_client import AsyncAexClient
from aex_client.batches import VerifiedOutput
from aex_client.call import Call
from aex_client.call_attempts import NO_RETRIES, RetryPolicy
from aex_client.client import AexClient
from aex_client.endpoints import Endpoints, Service
from aex_client.errors import (
    AexError,
    AnswerNotUnderstood,
    Conflict,
    ConnectionFailed,
    Forbidden,
    InvalidRequest,
    NotFound,
    ProblemError,
    RateLimited,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unprocessable,
)
from aex_client.views import (
    AgentProfileView,
    AttemptView,
    BookingView,
    CostView,
    OutcomeView,
    Page,
    SettlementView,
    VerificationView,
)

if TYPE_CHECKING:
    from aex_client.live_gate import VerdictPending
    from aex_client.revision_loop import RevisionLoop

__all__ = [
    "NO_RETRIES",
    "AexClient",
    "AexError",
    "AgentProfileView",
    "AnswerNotUnderstood",
    "AsyncAexClient",
    "AttemptView",
    "BookingView",
    "Call",
    "Conflict",
    "ConnectionFailed",
    "CostView",
    "Endpoints",
    "Forbidden",
    "InvalidRequest",
    "NotFound",
    "OutcomeView",
    "Page",
    "ProblemError",
    "RateLimited",
    "RetryPolicy",
    "RevisionLoop",
    "Service",
    "SettlementView",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "Unprocessable",
    "VerdictPending",
    "VerificationView",
    "VerifiedOutput",
]

_LATER = {"RevisionLoop": "revision_loop", "VerdictPending": "live_gate"}
"""Public names and their modules, which are imported on first use, since few programs need them."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
