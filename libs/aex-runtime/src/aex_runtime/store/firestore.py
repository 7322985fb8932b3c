"""Records in Firestore, shared by any number of processes anywhere."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from aex_runtime.store.buffer import BufferedTransaction, Place
from aex_runtime.store.firestore_api import ONCE, FirestoreApi
from aex_runtime.store.firestore_commit import Plan, current_versions, plan_of
from aex_runtime.store.firestore_queries import run_query
from aex_runtime.store.firestore_wire import Database, batch_get, commit, document_of, version_of
from aex_runtime.store.limits import check_query, is_name
from aex_runtime.store.port import AlreadyExists, Collection, Document, Query, T
from aex_runtime.store.rerun import Rerun, run

_AT_ONCE = 300
_FIRST_WAIT_MS, _LONGEST_WAIT_MS = 25.0, 4_000.0
"""A commit goes over the network there: whoever lost waits about as long as one takes, and far longer where fifty meet
on a slow server."""
_PING_S = 3.0
_PING: Place = ("ping", "ping")
"""Nothing is ever stored there."""


class FirestoreStore:
    """Optimistic, like the embedded store: transactions hold no lock while `fn` runs.

    What they read is checked by the conditions of one atomic commit. Firestore's own transactions would lock what
    they read, and starve on a document that ten of them want. `deadline_s` is how long any call may take (a commit
    that exceeds it may still happen). Belongs to the event loop that first uses it.
    """

    def __init__(
        self,
        project: str,
        database: str = "(default)",
        *,
        emulator: str | None = None,
        deadline_s: float = 10.0,
        rerun: Rerun | None = None,
    ) -> None:
        self._database = Database(project, database)
        self._api = FirestoreApi(self._database, emulator, deadline_s)
        self._deadline_s = deadline_s
        self._rerun = rerun or Rerun(first_ms=_FIRST_WAIT_MS, longest_ms=_LONGEST_WAIT_MS)

    async def get(self, collection: Collection, key: str) -> Document | None:
        return (await self.get_many(collection, (key,)))[0]

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        places = [(collection.name, key) for key in keys]
        stored = [place for place in dict.fromkeys(places) if all(map(is_name, place))]
        found = await self._read(stored) if stored else {}
        return [found.get(self._database.document(place)) for place in places]

    async def query(self, query: Query) -> list[Document]:
        check_query(query)
        request = run_query(self._database, query)
        if request is None:
            return []
        answers = await self._api.run_query(request)
        return [document_of(answer.document) for answer in answers if answer.HasField("document")]

    async def transact(self, fn: Callable[[BufferedTransaction], Awaitable[T]]) -> T:
        return await run(fn, self, self._rerun)

    async def commit(self, transaction: BufferedTransaction) -> bool:
        """Apply everything or nothing; False where something that was read has changed."""
        if not transaction.writes:
            return await self.unchanged(transaction)
        versions = current_versions(transaction.expected)
        if versions is None:
            return False
        plan = plan_of(versions, transaction.writes)
        if plan.taken is not None:
            return await self._refuse(versions, plan.taken)
        conditional = any(step.version is not None for step in plan.steps)
        if await self._api.commit(commit(self._database, plan.steps), conditional=conditional):
            return True
        return await self._explain(versions, plan)

    async def unchanged(self, transaction: BufferedTransaction) -> bool:
        """Whether everything that the transaction expects is so."""
        if transaction.is_of_one_moment:
            return True
        versions = current_versions(transaction.expected)
        return versions is not None and await self._are_current(versions)

    async def ping(self) -> None:
        request = batch_get(self._database, [_PING], versions_only=True)
        await self._api.batch_get(request, min(_PING_S, self._deadline_s), ONCE)

    async def close(self) -> None:
        await self._api.close()

    async def _refuse(self, versions: dict[Place, int], taken: Place) -> bool:
        if await self._are_current(versions):
            raise AlreadyExists(*taken)
        return False

    async def _explain(self, versions: dict[Place, int], plan: Plan) -> bool:
        """Why a commit was refused: what it created is there, or it lost."""
        if not plan.created:
            return False
        now = await self._versions_of((*versions, *plan.created))
        if any(now[place] != version for place, version in versions.items()):
            return False
        for place in plan.created:
            if now[place]:
                raise AlreadyExists(*place)
        return False

    async def _are_current(self, versions: dict[Place, int]) -> bool:
        return await self._versions_of(versions) == versions

    async def _versions_of(self, places: Iterable[Place]) -> dict[Place, int]:
        """The versions of one moment (0: not there)."""
        wanted = list(places)
        answers = await self._api.batch_get(batch_get(self._database, wanted, versions_only=True))
        found = {answer.found.name: version_of(answer.found) for answer in answers if answer.HasField("found")}
        return {place: found.get(self._database.document(place), 0) for place in wanted}

    async def _read(self, places: Sequence[Place]) -> dict[str, Document]:
        """The documents that are there, by their names in Firestore."""
        if len(places) > _AT_ONCE:
            halves = places[: len(places) // 2], places[len(places) // 2 :]
            first, second = await asyncio.gather(*map(self._read, halves))
            return first | second
        answers = await self._api.batch_get(batch_get(self._database, places, versions_only=False))
        return {answer.found.name: document_of(answer.found) for answer in answers if answer.HasField("found")}
