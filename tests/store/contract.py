"""What every store does. A backend's test class inherits this and provides the fixture `opened`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from aex_runtime.store.port import (
    MAX_DOCUMENT_BYTES,
    MAX_TRANSACTION_WRITES,
    AlreadyExists,
    Bound,
    Collection,
    Contention,
    Document,
    Fields,
    Index,
    InvalidDocument,
    Query,
    ReadAfterWrite,
    Scalar,
    Store,
    Transaction,
    UndeclaredIndex,
)
from aex_runtime.store.rerun import Rerun

WORKS = Collection(
    "test-works",
    (
        Index(),
        Index(order="due"),
        Index(equal=("state",), order="due"),
        Index(equal=("state",), order="due", direction="desc"),
        Index(equal=("state", "owner")),
    ),
)
OTHERS = Collection("test-others", (Index(), Index(order="due")))


Opened = Callable[[Rerun], Store]


async def write(store: Store, key: str, body: bytes = b"{}", collection: Collection = WORKS, **fields: Scalar) -> None:
    """Put one document."""
    await write_fields(store, key, fields, body, collection)


async def write_fields(
    store: Store, key: str, fields: Fields, body: bytes = b"{}", collection: Collection = WORKS
) -> None:
    """Put one document whose fields may have any name."""

    async def fn(transaction: Transaction) -> None:
        transaction.put(collection, key, body, fields)

    await store.transact(fn)


async def read(store: Store, key: str, collection: Collection = WORKS) -> Document:
    """A document that must be there."""
    document = await store.get(collection, key)
    assert document is not None
    return document


async def keys(store: Store, query: Query) -> list[str]:
    """The keys that a query finds, in its order."""
    return [document.key for document in await store.query(query)]


def increment(key: str, runs: list[str] | None = None) -> Callable[[Transaction], Awaitable[None]]:
    """A transaction that adds one to the number in a document."""

    async def fn(transaction: Transaction) -> None:
        if runs is not None:
            runs.append(key)
        seen = await transaction.get(WORKS, key)
        await asyncio.sleep(0)
        assert seen is not None
        transaction.update(WORKS, seen, str(int(seen.body) + 1).encode(), seen.fields)

    return fn


class ReadingAndWriting:
    async def test_document_comes_back_as_it_was_written(self, store: Store) -> None:
        fields: Fields = {
            "state": "open",
            "due": 5,
            "flag": True,
            "off": False,
            "none": None,
            "one": 1,
            "t": "é\u2028💶",
        }
        await write_fields(store, "w1", fields, b'{"a":1}')
        found = await read(store, "w1")
        assert (found.key, found.body, found.fields) == ("w1", b'{"a":1}', fields)
        assert [type(value) for value in found.fields.values()] == [type(value) for value in fields.values()]

    async def test_document_that_is_not_there_is_none(self, store: Store) -> None:
        assert await store.get(WORKS, "nobody") is None
        assert await store.get(WORKS, "\ud800") is None

    async def test_collections_do_not_mix(self, store: Store) -> None:
        await write(store, "w1", b"1")
        assert await store.get(OTHERS, "w1") is None
        assert await store.query(Query(OTHERS)) == []

    async def test_many_come_in_the_order_of_their_keys(self, store: Store) -> None:
        for key in ("a", "b", "c"):
            await write(store, key, key.encode())
        found = await store.get_many(WORKS, ["c", "nobody", "a", "c"])
        assert [document and document.body for document in found] == [b"c", None, b"a", b"c"]
        assert await store.get_many(WORKS, []) == []

    async def test_create_refuses_what_is_there(self, store: Store) -> None:
        await write(store, "w1", b"1")

        async def fn(transaction: Transaction) -> None:
            transaction.create(WORKS, "w1", b"2", {})

        with pytest.raises(AlreadyExists, match="test-works/w1"):
            await store.transact(fn)
        assert (await read(store, "w1")).body == b"1"

    async def test_create_refuses_what_the_same_transaction_created(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            transaction.create(WORKS, "w1", b"1", {})
            transaction.create(WORKS, "w1", b"2", {})

        with pytest.raises(AlreadyExists):
            await store.transact(fn)
        assert await store.get(WORKS, "w1") is None

    async def test_create_after_delete_in_one_transaction_replaces(self, store: Store) -> None:
        await write(store, "w1", b"1")

        async def fn(transaction: Transaction) -> None:
            transaction.delete(WORKS, "w1")
            transaction.create(WORKS, "w1", b"2", {})

        await store.transact(fn)
        assert (await read(store, "w1")).body == b"2"

    async def test_deleting_what_is_not_there_is_no_error(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            transaction.delete(WORKS, "nobody")

        await store.transact(fn)
        assert await store.get(WORKS, "nobody") is None

    async def test_transact_returns_what_the_function_returns(self, store: Store) -> None:
        async def fn(_: Transaction) -> str:
            return "result"

        assert await store.transact(fn) == "result"

    async def test_it_answers_a_ping(self, store: Store) -> None:
        await store.ping()


class Transactions:
    async def test_read_after_write_is_refused(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            transaction.put(WORKS, "w1", b"1", {})
            await transaction.get(WORKS, "w2")

        with pytest.raises(ReadAfterWrite):
            await store.transact(fn)
        assert await store.get(WORKS, "w1") is None

    async def test_all_or_nothing_where_a_later_create_fails(self, store: Store) -> None:
        await write(store, "taken", b"1")

        async def fn(transaction: Transaction) -> None:
            transaction.put(WORKS, "fresh", b"1", {})
            transaction.delete(WORKS, "taken")
            transaction.put(WORKS, "taken", b"2", {})
            transaction.create(WORKS, "taken", b"3", {})

        with pytest.raises(AlreadyExists):
            await store.transact(fn)
        assert await store.get(WORKS, "fresh") is None
        assert (await read(store, "taken")).body == b"1"

    async def test_all_or_nothing_where_a_later_document_is_invalid(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            transaction.put(WORKS, "fresh", b"1", {})
            transaction.put(WORKS, "a/b", b"1", {})

        with pytest.raises(InvalidDocument):
            await store.transact(fn)
        assert await store.get(WORKS, "fresh") is None

    async def test_nothing_is_written_where_the_function_raises(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            transaction.put(WORKS, "w1", b"1", {})
            raise LookupError("no")

        with pytest.raises(LookupError):
            await store.transact(fn)
        assert await store.get(WORKS, "w1") is None

    async def test_function_runs_again_where_what_it_read_has_changed(self, store: Store) -> None:
        await write(store, "w1", b"1")
        seen: list[bytes] = []

        async def fn(transaction: Transaction) -> None:
            document = await transaction.get(WORKS, "w1")
            assert document is not None
            seen.append(document.body)
            if len(seen) == 1:
                await write(store, "w1", b"10")
            transaction.put(WORKS, "w2", document.body, {})

        await store.transact(fn)
        assert seen == [b"1", b"10"]
        assert (await read(store, "w2")).body == b"10"

    async def test_function_runs_again_where_what_was_not_there_now_is(self, store: Store) -> None:
        seen: list[bool] = []

        async def fn(transaction: Transaction) -> None:
            document = await transaction.get(WORKS, "w1")
            seen.append(document is not None)
            if len(seen) == 1:
                await write(store, "w1", b"other")
            if document is None:
                transaction.create(WORKS, "w1", b"mine", {})

        await store.transact(fn)
        assert seen == [False, True]
        assert (await read(store, "w1")).body == b"other"

    async def test_update_of_an_older_version_loses(self, store: Store) -> None:
        await write(store, "w1", b"1")
        stale = await read(store, "w1")
        await write(store, "w1", b"2")

        async def fn(transaction: Transaction) -> None:
            transaction.update(WORKS, stale, b"3", {})

        with pytest.raises(Contention):
            await store.transact(fn)
        assert (await read(store, "w1")).body == b"2"

    async def test_update_of_an_older_version_loses_though_the_transaction_read_the_newer(self, store: Store) -> None:
        await write(store, "w1", b"1")
        stale = await read(store, "w1")
        await write(store, "w1", b"2")

        async def fn(transaction: Transaction) -> None:
            await transaction.get(WORKS, "w1")
            transaction.update(WORKS, stale, b"3", {})

        with pytest.raises(Contention):
            await store.transact(fn)
        assert (await read(store, "w1")).body == b"2"

    async def test_document_made_anew_is_not_the_one_that_was_seen(self, store: Store) -> None:
        await write(store, "w1", b"1")
        stale = await read(store, "w1")

        async def recreate(transaction: Transaction) -> None:
            transaction.delete(WORKS, "w1")

        await store.transact(recreate)
        await write(store, "w1", b"1")

        async def fn(transaction: Transaction) -> None:
            transaction.update(WORKS, stale, b"2", {})

        with pytest.raises(Contention):
            await store.transact(fn)

    async def test_version_grows_with_each_write(self, store: Store) -> None:
        versions = []
        for body in (b"1", b"2", b"2"):
            await write(store, "w1", body)
            versions.append((await read(store, "w1")).version)
        assert versions == sorted(set(versions))
        assert versions[0] > 0

    async def test_reading_transaction_sees_one_moment(self, store: Store) -> None:
        for key in ("a", "b"):
            await write(store, key, b"1")
        runs: list[tuple[bytes, bytes]] = []

        async def fn(transaction: Transaction) -> None:
            first = await transaction.get(WORKS, "a")
            if not runs:
                await write(store, "a", b"2")
                await write(store, "b", b"2")
            second = await transaction.get(WORKS, "b")
            assert first is not None
            assert second is not None
            runs.append((first.body, second.body))

        await store.transact(fn)
        assert runs[-1] == (b"2", b"2")

    async def test_error_over_reads_that_do_not_belong_together_is_no_answer(self, store: Store) -> None:
        for key in ("a", "b"):
            await write(store, key, b"1")
        runs: list[int] = []

        async def fn(transaction: Transaction) -> None:
            runs.append(1)
            first = await transaction.get(WORKS, "a")
            if len(runs) == 1:
                await write(store, "a", b"2")
                await write(store, "b", b"2")
            second = await transaction.get(WORKS, "b")
            if (first and first.body) != (second and second.body):
                raise AssertionError("a and b are always equal")

        await store.transact(fn)
        assert len(runs) == 2

    async def test_document_read_twice_is_the_same_twice(self, store: Store) -> None:
        await write(store, "w1", b"1")

        async def fn(transaction: Transaction) -> bool:
            first = await transaction.get(WORKS, "w1")
            return await transaction.get(WORKS, "w1") == first

        assert await store.transact(fn)

    async def test_key_that_nobody_can_write_may_be_looked_for(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            assert await transaction.get(WORKS, "\ud800") is None
            transaction.put(WORKS, "w1", b"1", {})

        await store.transact(fn)
        assert (await read(store, "w1")).body == b"1"

    async def test_fifty_concurrent_increments_add_fifty(self, patient_store: Store) -> None:
        await write(patient_store, "w1", b"0", state="open", due=1)
        runs: list[str] = []
        await asyncio.gather(*(patient_store.transact(increment("w1", runs)) for _ in range(50)))
        assert (await read(patient_store, "w1")).body == b"50"
        assert len(runs) > 50  # they did meet

    async def test_of_many_creators_one_wins(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            await asyncio.sleep(0)
            transaction.create(WORKS, "w1", b"1", {})

        results = await asyncio.gather(*(store.transact(fn) for _ in range(20)), return_exceptions=True)
        assert results.count(None) == 1
        assert sum(isinstance(result, AlreadyExists) for result in results) == 19

    async def test_losers_leave_their_neighbours_alone(self, store: Store) -> None:
        await write(store, "taken", b"1")

        async def create(key: str) -> None:
            async def fn(transaction: Transaction) -> None:
                transaction.put(WORKS, f"with-{key}", b"1", {})
                transaction.create(WORKS, key, b"1", {})

            await store.transact(fn)

        names = [f"k{number}" if number % 2 else "taken" for number in range(40)]
        results = await asyncio.gather(*map(create, names), return_exceptions=True)
        assert [result is None for result in results] == [name != "taken" for name in names]
        assert await store.get(WORKS, "with-taken") is None
        found = await store.get_many(WORKS, [f"with-k{number}" for number in range(1, 40, 2)])
        assert all(found)


class Queries:
    @pytest.fixture
    async def filled(self, store: Store) -> Store:
        await write(store, "a", state="open", due=3, owner="x")
        await write(store, "b", state="open", due=1, owner="y")
        await write(store, "c", state="done", due=2, owner="x")
        await write(store, "d", state="open", due=3, owner="x")
        await write(store, "e", state="open", owner="x")
        await write(store, "f", state=None, due=9)
        await write(store, "z", collection=OTHERS, state="open", due=0)
        return store

    async def test_order_is_by_value_then_key(self, filled: Store) -> None:
        assert await keys(filled, Query(WORKS, order="due")) == ["b", "c", "a", "d", "f"]
        assert await keys(filled, Query(WORKS, {"state": "open"}, "due")) == ["b", "a", "d"]
        assert await keys(filled, Query(WORKS, {"state": "open"}, "due", "desc")) == ["d", "a", "b"]

    async def test_without_an_ordered_field_order_is_by_key(self, filled: Store) -> None:
        assert await keys(filled, Query(WORKS)) == ["a", "b", "c", "d", "e", "f"]
        assert await keys(filled, Query(WORKS, direction="desc", limit=2)) == ["f", "e"]
        assert await keys(filled, Query(WORKS, {"owner": "x", "state": "open"})) == ["a", "d", "e"]

    async def test_null_matches_null_and_missing(self, filled: Store) -> None:
        assert await keys(filled, Query(WORKS, {"state": None, "owner": None})) == ["f"]
        assert await keys(filled, Query(WORKS, {"state": None}, "due")) == ["f"]

    async def test_what_lacks_the_ordered_field_is_not_found_by_it(self, filled: Store) -> None:
        assert "e" not in await keys(filled, Query(WORKS, order="due"))

    @pytest.mark.parametrize(
        ("bounds", "expected"),
        [
            ((Bound("==", 3),), ["a", "d"]),
            ((Bound(">", 1), Bound("<", 9)), ["c", "a", "d"]),
            ((Bound(">=", 1), Bound("<=", 2)), ["b", "c"]),
            ((Bound(">", 1), Bound(">", 2), Bound("<", 99), Bound("<", 9)), ["a", "d"]),
            ((Bound(">", 9),), []),
            ((Bound(">", 3), Bound("<", 2)), []),
            ((Bound(">=", "1"),), []),
            ((Bound(">=", 1), Bound("<=", "z")), []),
        ],
    )
    async def test_bounds_confine(self, filled: Store, bounds: tuple[Bound, ...], expected: list[str]) -> None:
        assert await keys(filled, Query(WORKS, order="due", bounds=bounds)) == expected

    @pytest.mark.parametrize("direction", ["asc", "desc"])
    async def test_pages_together_are_the_whole(self, store: Store, direction: str) -> None:
        for number in range(23):
            await write(store, f"k{number * 7 % 23:02}", state="open", due=number // 5)
        whole = Query(WORKS, {"state": "open"}, "due", "asc" if direction == "asc" else "desc", limit=100)
        paged: list[str] = []
        after: tuple[Scalar, str] | None = None
        while page := await store.query(Query(WORKS, whole.equal, "due", whole.direction, after=after, limit=4)):
            paged += [document.key for document in page]
            after = (page[-1].fields["due"], page[-1].key)
        assert paged == await keys(store, whole)
        assert len(paged) == 23

    async def test_page_starts_behind_a_document_that_is_gone(self, filled: Store) -> None:
        assert await keys(filled, Query(WORKS, order="due", after=(2, "cc"))) == ["a", "d", "f"]
        assert await keys(filled, Query(WORKS, after=(None, "cc"))) == ["d", "e", "f"]
        assert await keys(filled, Query(WORKS, direction="desc", after=(None, "cc"))) == ["c", "b", "a"]

    async def test_page_starts_behind_null(self, filled: Store) -> None:
        assert await keys(filled, Query(WORKS, order="due", after=(None, "zz"), limit=2)) == ["b", "c"]
        assert await keys(filled, Query(WORKS, {"state": "open"}, "due", "desc", after=(None, "zz"))) == []

    async def test_page_respects_bounds_on_both_sides(self, filled: Store) -> None:
        bounds = (Bound(">=", 2), Bound("<", 9))
        assert await keys(filled, Query(WORKS, order="due", bounds=bounds, after=(0, "zz"))) == ["c", "a", "d"]
        assert await keys(filled, Query(WORKS, order="due", bounds=bounds, after=(3, "a"))) == ["d"]
        assert await keys(filled, Query(WORKS, order="due", bounds=bounds, after=(9, "a"))) == []

    async def test_types_stand_in_order_and_apart(self, store: Store) -> None:
        mixed: dict[str, Scalar] = {
            "text": "5", "empty": "", "five": 5, "one": 1, "zero": 0, "low": -(2**63), "high": 2**63 - 1,
            "yes": True, "no": False, "none": None,
        }  # fmt: skip
        for key, value in mixed.items():
            await write(store, key, due=value, state=value, owner="x")
        expected = ["no", "yes", "low", "zero", "one", "five", "high", "empty", "text"]
        assert await keys(store, Query(WORKS, order="due")) == expected
        assert await keys(store, Query(WORKS, order="due", bounds=(Bound("<=", 1),))) == ["low", "zero", "one"]
        assert await keys(store, Query(WORKS, order="due", bounds=(Bound(">", 1),))) == ["five", "high"]
        assert await keys(store, Query(WORKS, order="due", bounds=(Bound("<", "5"),))) == ["empty"]
        for key, value in mixed.items():
            assert await keys(store, Query(WORKS, {"state": value, "owner": "x"})) == [key]

    async def test_text_is_ordered_by_code_point(self, store: Store) -> None:
        for key, text in {"1": "Z", "2": "a", "3": "é", "4": "\uffff", "5": "💶"}.items():
            await write(store, key, due=text)
        assert await keys(store, Query(WORKS, order="due")) == ["1", "2", "3", "4", "5"]

    async def test_query_follows_writes(self, filled: Store) -> None:
        await write(filled, "b", state="done", due=7)

        async def fn(transaction: Transaction) -> None:
            transaction.delete(WORKS, "c")

        await filled.transact(fn)
        assert await keys(filled, Query(WORKS, {"state": "done"}, "due")) == ["b"]
        assert await keys(filled, Query(WORKS, {"state": "open"}, "due")) == ["a", "d"]

    async def test_index_declared_later_finds_what_was_written_before(self, filled: Store) -> None:
        later = Collection("test-works", (Index(equal=("owner",), order="due", direction="desc"),))
        assert await keys(filled, Query(later, {"owner": "x"}, "due", "desc")) == ["d", "a", "c"]

    async def test_undeclared_index_is_refused(self, filled: Store) -> None:
        for query in (
            Query(WORKS, {"owner": "x"}),
            Query(WORKS, order="created"),
            Query(WORKS, order="due", direction="desc"),
            Query(WORKS, {"state": "open"}),
            Query(WORKS, bounds=(Bound(">", 1),)),
        ):
            with pytest.raises(UndeclaredIndex):
                await filled.query(query)

    async def test_query_for_less_than_one_document_is_refused(self, filled: Store) -> None:
        for limit in (0, -1):
            with pytest.raises(ValueError, match="at least one"):
                await filled.query(Query(WORKS, limit=limit))

    async def test_query_for_what_cannot_be_stored_is_refused(self, filled: Store) -> None:
        for query in (
            Query(WORKS, order="due", bounds=(Bound(">", 2**63),)),
            Query(WORKS, after=(None, "\ud800")),
            Query(WORKS, {"state": "a\0"}, "due"),
        ):
            with pytest.raises(InvalidDocument):
                await filled.query(query)


class Limits:
    @pytest.mark.parametrize("key", ["", ".", "..", "a/b", "__x__", "__a\nb__", "k" * 1_501, "a\0b", "\ud800"])
    async def test_key_that_firestore_refuses(self, store: Store, key: str) -> None:
        with pytest.raises(InvalidDocument):
            await write(store, key)

    @pytest.mark.parametrize("name", ["", "a.b", "1a", "a-b", "__x__", "a'b", 'a"b', "é", "a" * 1_501])
    async def test_field_name_that_needs_quoting(self, store: Store, name: str) -> None:
        with pytest.raises(InvalidDocument):
            await write_fields(store, "w1", {name: 1})

    @pytest.mark.parametrize("value", ["x" * 1_501, "é" * 751, 2**63, -(2**63) - 1, "a\0b", "\udfff", 1.5, b"x"])
    async def test_value_that_cannot_be_indexed(self, store: Store, value: Scalar) -> None:
        with pytest.raises(InvalidDocument):
            await write(store, "w1", due=value)

    @pytest.mark.parametrize("value", ["x" * 1_500, 2**63 - 1, -(2**63), "\x1f\x7f\"'\\"])
    async def test_value_at_the_limit(self, store: Store, value: Scalar) -> None:
        await write(store, "k" * 1_500, due=value)
        assert (await read(store, "k" * 1_500)).fields == {"due": value}
        assert await keys(store, Query(WORKS, order="due")) == ["k" * 1_500]

    async def test_collection_that_cannot_be_named(self, store: Store) -> None:
        for name in ("", "a/b", "__x__"):
            with pytest.raises(InvalidDocument):
                await write(store, "w1", collection=Collection(name))

    async def test_collection_with_quotes_in_its_name(self, store: Store) -> None:
        odd = Collection('it\'s "odd"', (Index(order="due"),))
        await write(store, "w1", collection=odd, due=1)
        assert await keys(store, Query(odd, order="due")) == ["w1"]

    async def test_transaction_with_too_many_writes(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            for number in range(MAX_TRANSACTION_WRITES + 1):
                transaction.put(WORKS, f"k{number}", b"1", {})

        with pytest.raises(InvalidDocument, match="at most 500"):
            await store.transact(fn)
        assert await store.get(WORKS, "k0") is None

    async def test_transaction_with_as_many_writes_as_allowed(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            for number in range(MAX_TRANSACTION_WRITES):
                transaction.put(WORKS, f"k{number}", b"1", {})

        await store.transact(fn)
        assert len(await store.query(Query(WORKS, limit=1_000))) == MAX_TRANSACTION_WRITES


class SizeLimit:
    """For stores that keep bodies themselves."""

    async def test_document_above_a_mebibyte_is_refused(self, store: Store) -> None:
        with pytest.raises(InvalidDocument, match="exceed"):
            await write(store, "w1", b"x" * MAX_DOCUMENT_BYTES)
        await write(store, "w1", b"x" * (MAX_DOCUMENT_BYTES - 2))


class StoreContract(ReadingAndWriting, Transactions, Queries, Limits):
    """All of it. A backend provides `opened`, which opens the one store of a test."""

    @pytest.fixture
    async def store(self, opened: Opened) -> AsyncIterator[Store]:
        """A store that soon gives up on a transaction that cannot win."""
        store = opened(Rerun(longest_ms=64))
        yield store
        await store.close()

    @pytest.fixture
    async def patient_store(self, opened: Opened) -> AsyncIterator[Store]:
        """A store with the waits of production."""
        store = opened(Rerun())
        yield store
        await store.close()
