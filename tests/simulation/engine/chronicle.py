"""What was ever committed and handled, as it happened: the invariants look at what is new in it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from aex_models.events import Event
from aex_runtime.outbox_entry import outbox_table
from aex_runtime.store.buffer import BufferedTransaction, Place
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Document
from aex_runtime.store.rerun import Rerun


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit made of one document."""

    collection: str
    key: str
    before: bytes | None
    """None: it was not there."""
    after: bytes | None
    """None: it is there no more."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What one transaction of a service changed."""

    service: str
    changes: tuple[Change, ...]
    events: tuple[Event, ...]
    """That it emitted."""


@dataclass
class Chronicle:
    """Everything that was committed, by whichever replica, whether or not it lived to know."""

    commits: list[Commit] = field(default_factory=list)
    looked_at: int = 0
    """So many of them, the oldest, were looked at."""
    emitted: dict[str, Event] = field(default_factory=dict)
    """Every event of a committed unit, by id."""
    handled: set[tuple[str, str]] = field(default_factory=set)
    """Services and the events that their handlers returned from."""
    astonished: list[str] = field(default_factory=list)
    """Handlers that ended with what neither an outage nor the handler's own word accounts for."""

    def committed(self, commit: Commit) -> None:
        """A transaction was committed just now."""
        self.commits.append(commit)
        self.emitted.update((event.id, event) for event in commit.events)

    def taken(self) -> list[Commit]:
        """What is new since the last look."""
        taken = self.commits[self.looked_at :]
        self.looked_at = len(self.commits)
        return taken


class ChronicledStore(MemoryStore):
    """A store that tells of each commit, in their order, before anybody else can act."""

    def __init__(self, rerun: Rerun | None = None) -> None:
        super().__init__(rerun)
        self.tell: Callable[[dict[Place, Document | None], dict[Place, Document | None]], None] = _tell_nobody

    async def commit(self, transaction: BufferedTransaction) -> bool:
        places = dict.fromkeys(write.place for write in transaction.writes)
        before = {place: self._documents.get(place) for place in places}
        done = await super().commit(transaction)
        if done and places:
            self.tell(before, {place: self._documents.get(place) for place in places})
        return done


def telling(
    chronicle: Chronicle, service: str
) -> Callable[[dict[Place, Document | None], dict[Place, Document | None]], None]:
    """What a service's store tells the chronicle."""
    outbox = outbox_table(service)

    def tell(before: dict[Place, Document | None], after: dict[Place, Document | None]) -> None:
        changes = tuple(
            Change(*place, _body(before[place]), _body(document))
            for place, document in after.items()
            if document is not before[place]
        )
        events = tuple(
            outbox.decode(document).record.event
            for (collection, _), document in after.items()
            if document is not None and collection == outbox.collection.name
        )
        chronicle.committed(Commit(service, changes, events))

    return tell


def _body(document: Document | None) -> bytes | None:
    return document.body if document else None


def _tell_nobody(_: dict[Place, Document | None], __: dict[Place, Document | None]) -> None:
    """Nobody listens yet."""
