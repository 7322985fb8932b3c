"""The exceptions of verifiers: a rejection, which counts as an attempt, and a fatal error."""

from collections.abc import Mapping
from typing import Any

REJECTED = "rejected"
"""The code of a rejection without a code of its own."""


class VerificationRejected(Exception):
    """A rejected output: one attempt is used, and the message is the agent's feedback.

    `code`: a short name that programs can act on. `metadata`: further JSON, sent at feedback level `full` alone.
    """

    def __init__(self, message: str, code: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.metadata = to_text_keyed_mapping(metadata)


class FatalAgentError(Exception):
    """A fatal error: no further attempt can help, and the contract or the loop has failed."""


def to_text_keyed_mapping(metadata: Any) -> dict[str, Any]:
    """Return metadata with keys as texts.

    A value that is no mapping is kept under `metadata`, since a rejection stands however it is built.
    """
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        return {"metadata": metadata}
    return {to_text_or_type_name(key): value for key, value in metadata.items()}


def to_text_or_type_name(value: object) -> str:
    """Return the text of a value, or the name of its type when its `__str__` raises."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 foreign code: the rejection must not be lost
        return type(value).__name__


def find_verdict_in_group(group: BaseExceptionGroup[BaseException]) -> VerificationRejected | FatalAgentError | None:
    """Return the verdict of an exception group (as of a `TaskGroup`) that holds verdicts alone.

    Of several, a fatal one comes first. None when any other exception is in the group or nested in it.
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
