"""Record of every commit and every handled event, in order, for the invariants."""

from collections.abc import Callable
from dataclasses import dataclass, field

from aex_models.events import Event
from aex_runtime.records import outbox_table
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Document, DocumentKey
from aex_runtime.store.transactions import BufferedTransaction, TransactionRetry


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one document by a commit."""

    collection: str
    key: str
    before: bytes | None
    """Body before the commit; None if the document did not exist."""
    after: bytes | None
    """Body after the commit; None if the document was deleted."""


@dataclass(frozen=True, slots=True)
class Commit:
    """Changes of a service by one transaction."""

    service: str
    changes: tuple[Change, ...]
    events: tuple[Event, ...]
    """Events that the transaction emitted."""


@dataclass
class CommitLog:
    """Every commit, by any replica, whether or not the replica survived it."""

    commits: list[Commit] = field(default_factory=list)
    checked: int = 0
    """Number of commits already checked, from the oldest."""
    emitted: dict[str, Event] = field(default_factory=dict)
    """Every event of a committed unit, by id."""
    handled: set[tuple[str, str]] = field(default_factory=set)
    """Services and the events that their handlers returned from."""
    unexpected_errors: list[str] = field(default_factory=list)
    """Handlers that failed for another reason than an outage or a refusal of their own."""

    def record(self, commit: Commit) -> None:
        """Record a commit."""
        self.commits.append(commit)
        self.emitted.update((event.id, event) for event in commit.events)

    def take_new(self) -> list[Commit]:
        """Return the commits since the last call of this method."""
        taken = self.commits[self.checked :]
        self.checked = len(self.commits)
        return taken


class LoggedStore(MemoryStore):
    """A store that reports each commit, in order, before another process can act."""

    def __init__(self, rerun: TransactionRetry | None = None) -> None:
        super().__init__(rerun)
        self.report: Callable[[dict[DocumentKey, Document | None], dict[DocumentKey, Document | None]], None] = (
            _ignore_commit
        )

    async def commit(self, transaction: BufferedTransaction) -> bool:
        locations = dict.fromkeys(write.document_key for write in transaction.writes)
        before = {location: self._documents.get(location) for location in locations}
        done = await super().commit(transaction)
        if done and locations:
            self.report(before, {location: self._documents.get(location) for location in locations})
        return done


def commit_reporter(
    commit_log: CommitLog, service: str
) -> Callable[[dict[DocumentKey, Document | None], dict[DocumentKey, Document | None]], None]:
    """Return the callback of a service's store."""
    outbox = outbox_table(service)

    def report(before: dict[DocumentKey, Document | None], after: dict[DocumentKey, Document | None]) -> None:
        changes = tuple(
            Change(*location, _body(before[location]), _body(document))
            for location, document in after.items()
            if document is not before[location]
        )
        events = tuple(
            outbox.decode(document).record.event
            for (collection, _), document in after.items()
            if document is not None and collection == outbox.collection.name
        )
        commit_log.record(Commit(service, changes, events))

    return report


def _body(document: Document | None) -> bytes | None:
    return document.body if document else None


def _ignore_commit(_: dict[DocumentKey, Document | None], __: dict[DocumentKey, Document | None]) -> None:
    """Ignore the commit: no listener is set yet."""
