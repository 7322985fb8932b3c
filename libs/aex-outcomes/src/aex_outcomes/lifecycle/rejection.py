"""Exceptions that verifiers raise: a rejection, which uses an attempt, and a fatal error."""

from collections.abc import Mapping
from typing import Any

REJECTED = "rejected"
"""Code of a rejection for which the verifier gives none."""


class VerificationRejected(Exception):
    """Exception by which a verifier rejects an output; it uses an attempt, and agents read the message.

    `code`: short name that programs can act on. `metadata`: further JSON, sent to the agent only at feedback level
    `full`.
    """

    def __init__(self, message: str, code: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.metadata = to_text_keyed_mapping(metadata)


class FatalAgentError(Exception):
    """Exception after which no further attempt can help: the contract or the loop fails."""


def to_text_keyed_mapping(metadata: Any) -> dict[str, Any]:
    """Return metadata as a dict with text keys, whatever a verifier gave.

    None gives an empty dict; a value that is no mapping is put under the key `metadata`.
    """
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        return {"metadata": metadata}
    return {to_text_or_type_name(key): value for key, value in metadata.items()}


def to_text_or_type_name(value: object) -> str:
    """Return `str(value)`, or the name of the value's type if its `__str__` raises."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 foreign code: the rejection must not be lost
        return type(value).__name__


def find_verdict_in_group(group: BaseExceptionGroup[BaseException]) -> VerificationRejected | FatalAgentError | None:
    """Return the rejection or fatal error in an exception group, such as one of a `TaskGroup`.

    A fatal error has precedence over rejections. None if the group contains any other exception.
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
