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
        self.metadata = as_mapping(metadata)


class FatalAgentError(Exception):
    """No further attempt can help: the contract, or the loop, has failed."""


def as_mapping(metadata: Any) -> dict[str, Any]:
    """Metadata under keys that are texts. What is no mapping at all is kept too: a rejection stands, however made."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        return {"metadata": metadata}
    return {as_text(key): value for key, value in metadata.items()}


def as_text(value: object) -> str:
    """The text of a value, and the name of its type where its `__str__` raises."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 other people's code: a rejection stands, whatever it was given
        return type(value).__name__


def verdict_in(group: BaseExceptionGroup[BaseException]) -> VerificationRejected | FatalAgentError | None:
    """What a group of exceptions, as a `TaskGroup` raises it, comes to if verdicts are all that it holds.

    The fatal one of several, else the first. None where anything else is in it, or in a group within it.
    """
    leaves = _leaves(group)
    verdicts = [each for each in leaves if isinstance(each, VerificationRejected | FatalAgentError)]
    if len(verdicts) < len(leaves):
        return None
    return next((each for each in verdicts if isinstance(each, FatalAgentError)), verdicts[0])


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for each in error.exceptions for leaf in _leaves(each)]
    return [error]
