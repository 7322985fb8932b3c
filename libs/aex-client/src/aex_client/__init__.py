"""The Python SDK of AEX Outcomes: sync and async clients, typed with the common models."""

from aex_client.async_client import AsyncAexClient
from aex_client.call import Call
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
from aex_client.retries import NO_RETRIES, RetryPolicy
from aex_client.views import AttemptView, CostView, OutcomeView, Page, SettlementView, VerificationView

__all__ = [
    "NO_RETRIES",
    "AexClient",
    "AexError",
    "AnswerNotUnderstood",
    "AsyncAexClient",
    "AttemptView",
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
    "Service",
    "SettlementView",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "Unprocessable",
    "VerificationView",
]
