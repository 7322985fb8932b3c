import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_runtime.store import port
from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Bound, Collection, Document, Fields, Index, Query, Scalar, Store, Transaction
from aex_runtime.store.sqlite import SQLiteStore
from aex_runtime.store.transactions import TransactionRetry
from tests.emulators.emulators import Emulators, new_project
from tests.examples import examples

WORKS = Collection(
    "same-works",
    (
        Index(),
        Index(equal=("state",)),
        Index(order="due"),
        Index(order="due", direction="desc"),
        Index(equal=("state",), order="due"),
        Index(equal=("state",), order="due", direction="desc"),
    ),
)
KEYS = st.sampled_from(["a", "b", "c", "d", "e", "Z", "é", "\uffff", "💶"])
VALUES: st.SearchStrategy[Scalar] = st.sampled_from(
    [None, True, False, 0, 1, -1, 7, -(2**63), 2**63 - 1, "", "a", "b", "é", "💶", '"\\', "\x1f"]
)
FIELDS = st.dictionaries(st.sampled_from(["state", "due", "other"]), VALUES, max_size=3)
BODIES = st.sampled_from([b"1", b"2", b""])


@dataclass(frozen=True)
class Change:
    kind: str
    key: str
    body: bytes
    fields: Fields


@dataclass(frozen=True)
class Step:
    reads: list[str]
    changes: list[Change]
    interrupt: Change | None


CHANGES = st.builds(Change, st.sampled_from(["create", "update", "stale", "put", "delete"]), KEYS, BODIES, FIELDS)
STEPS = st.builds(
    Step,
    st.lists(KEYS, max_size=3),
    st.lists(CHANGES, max_size=4),
    st.none() | st.builds(Change, st.just("put"), KEYS, BODIES, FIELDS),
)
BOUND_VALUES = st.sampled_from([0, 1, -(2**63), 2**63 - 1, "", "a", "é"])
QUERIES = st.builds(
    Query,
    st.just(WORKS),
    st.fixed_dictionaries({}) | st.fixed_dictionaries({"state": VALUES}),
    st.none() | st.just("due"),
    st.sampled_from(["asc", "desc"]),
    st.just(()) | st.lists(st.builds(Bound, st.sampled_from(["==", "<", "<=", ">", ">="]), BOUND_VALUES)).map(tuple),
    st.none() | st.tuples(VALUES, KEYS),
    st.integers(0, 5),
)
Action = Step | Query | list[str]


class Client:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.seen: dict[str, Document] = {}

    async def answer(self, action: Action) -> object:
        try:
            if isinstance(action, Query):
                return await self.store.query_page(action)
            if isinstance(action, Step):
                return await self._step(action)
            return await self.store.get_many(WORKS, action)
        except (port.StoreError, ValueError) as error:
            return type(error)

    async def _step(self, step: Step) -> list[Document | None]:
        runs: list[list[Document | None]] = []

        async def fn(transaction: Transaction) -> None:
            found = {key: await transaction.get(WORKS, key) for key in step.reads}
            runs.append(list(found.values()))
            if step.interrupt is not None and len(runs) == 1:
                await self.store.transact(_putting(step.interrupt))
            for change in step.changes:
                _make(transaction, change, self.seen if change.kind == "stale" else found)
            self.seen |= {key: document for key, document in found.items() if document}

        await self.store.transact(fn)
        return [document for run in runs for document in run]


def _putting(change: Change) -> Callable[[Transaction], Awaitable[None]]:
    async def fn(transaction: Transaction) -> None:
        _make(transaction, change, {})

    return fn


def _make(transaction: Transaction, change: Change, seen: dict[str, Document] | dict[str, Document | None]) -> None:
    if change.kind == "create":
        transaction.create(WORKS, change.key, change.body, change.fields)
    elif change.kind == "put":
        transaction.put(WORKS, change.key, change.body, change.fields)
    elif change.kind == "delete":
        transaction.delete(WORKS, change.key)
    elif (document := seen.get(change.key)) is not None:
        transaction.update(WORKS, document, change.body, change.fields)


async def _at_once(_: float) -> None:
    return None


ACTIONS = st.lists(STEPS | QUERIES | st.lists(KEYS, max_size=4), max_size=25)
RETRY = TransactionRetry(tries=3, sleep=_at_once)


Normalise = Callable[[object], object]


async def compare(store: Store, actions: list[Action], normalise: Normalise = lambda answer: answer) -> None:
    memory, other = Client(MemoryStore(RETRY)), Client(store)
    for action in actions:
        assert normalise(await other.answer(action)) == normalise(await memory.answer(action))
    for query in (Query(WORKS, limit=100), Query(WORKS, order="due", limit=100)):
        assert normalise(await other.answer(query)) == normalise(await memory.answer(query))
    await store.close()


def without_versions(answer: object) -> object:
    if isinstance(answer, list):
        return [document and (document.key, document.body, document.fields) for document in answer]
    return answer


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(ACTIONS)
def test_memory_and_sqlite_behave_equally(actions: list[Action]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(compare(SQLiteStore(Path(folder) / "store.sqlite3", retry=RETRY), actions))


@pytest.mark.slow
@pytest.mark.emulator
@settings(max_examples=examples(60), deadline=None)
@given(ACTIONS)
def test_memory_and_firestore_behave_equally(emulators: Emulators, actions: list[Action]) -> None:
    project = new_project()
    store = FirestoreStore(project, emulator=emulators.firestore.host, retry=RETRY)
    asyncio.run(compare(store, actions, without_versions))
