"""The commit of a transaction: its writes merged to one per document, with their conditions. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aex_runtime.store.limits import is_name
from aex_runtime.store.port import DocumentKey, Write


@dataclass(frozen=True, slots=True)
class DocumentStep:
    """The step of a commit on one document: a write, or only a check."""

    key: DocumentKey
    write: Write | None
    version: int | None
    """The required version: 0 for an absent document, None for any."""


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """The steps of a commit, and its creates."""

    steps: tuple[DocumentStep, ...]
    created: tuple[DocumentKey, ...]
    """Creates of documents that were not read: the commit checks that they are absent."""
    existing: DocumentKey | None
    """A create of a document that exists, unless an expected version has changed."""


def required_versions(expected: Iterable[tuple[DocumentKey, int]]) -> dict[DocumentKey, int] | None:
    """Return the expected version of each document; None if two differ, one of which must be outdated.

    Keys that cannot be stored are omitted: their documents can never exist.
    """
    versions: dict[DocumentKey, int] = {}
    for key, version in expected:
        if versions.setdefault(key, version) != version:
            return None
    return {key: version for key, version in versions.items() if version or all(map(is_name, key))}


def plan_commit(versions: dict[DocumentKey, int], writes: Sequence[Write]) -> CommitPlan:
    """Plan the commit with the effect of the writes in their order.

    The last write of a document wins. A create needs an absent document: known from a read or an earlier write of the
    transaction, else a condition of the commit.
    """
    last: dict[DocumentKey, Write] = {}
    created: list[DocumentKey] = []
    for write in writes:
        if write.kind == "create":
            exists = _exists(write.document_key, versions, last)
            if exists:
                return CommitPlan((), (), write.document_key)
            if exists is None:
                created.append(write.document_key)
        last[write.document_key] = write
    conditions = versions | dict.fromkeys(created, 0)
    written = [DocumentStep(key, write, conditions.get(key)) for key, write in last.items()]
    checked = [DocumentStep(key, None, version) for key, version in versions.items() if key not in last]
    return CommitPlan((*written, *checked), tuple(created), None)


def _exists(key: DocumentKey, versions: dict[DocumentKey, int], last: dict[DocumentKey, Write]) -> bool | None:
    if key in last:
        return last[key].kind != "delete"
    return versions[key] > 0 if key in versions else None
