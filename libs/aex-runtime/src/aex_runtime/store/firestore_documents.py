"""The plan of a Firestore commit: the writes of a transaction merged to one per document. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aex_runtime.store.limits import is_valid_name
from aex_runtime.store.port import DocumentKey, Write


@dataclass(frozen=True, slots=True)
class DocumentStep:
    """The part of a commit that concerns one document: a write, or only a check of its version."""

    key: DocumentKey
    write: Write | None
    """The write; None only checks the version."""
    version: int | None
    """The version that the document must have: 0 if it must be absent, None if any will do."""


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """The steps of a commit, or the document for which it must fail."""

    steps: tuple[DocumentStep, ...]
    created: tuple[DocumentKey, ...]
    """Documents to create that the transaction has not read; the commit requires that they are absent."""
    existing: DocumentKey | None
    """A document to create that exists, as the transaction read or wrote it. Then there are no steps."""


def merge_expected_versions(expected: Iterable[tuple[DocumentKey, int]]) -> dict[DocumentKey, int] | None:
    """Return the expected version of each document; None if one document has two expected versions.

    One of two versions is outdated, so that the commit would fail. Keys that cannot be stored are omitted, because
    their documents cannot exist.
    """
    versions: dict[DocumentKey, int] = {}
    for key, version in expected:
        if versions.setdefault(key, version) != version:
            return None
    return {key: version for key, version in versions.items() if version or all(map(is_valid_name, key))}


def plan_commit(versions: dict[DocumentKey, int], writes: Sequence[Write]) -> CommitPlan:
    """Return the steps with the same effect as the writes in their order.

    Of several writes to a document the last one counts. A document to create must be absent. If no read and no earlier
    write of the transaction shows that, the commit has it as a condition. `versions` are the expected ones.
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
