"""What a verifier raises: a rejection, which counts, or a fatal error, which ends everything."""

from collections.abc import Mapping
from typing import Any

REJECTED = "rejected"
"""The code of a rejection whose verifier named none."""


class VerificationRejected(Exception):
    """The output is not good enough: one attempt is used, and the message is the agent's feedback.

    `code`: a short name that programs can act on. `metadata`: further JSON, told at feedback level `full` alone.
    """

    def __init__(self, message: str, code: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.metadata = dict(metadata or {})


class FatalAgentError(Exception):
    """No further attempt can help: the contract, or the loop, has failed."""
