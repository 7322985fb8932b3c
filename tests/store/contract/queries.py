"""Queries and their pages follow the declared indexes."""

from dataclasses import replace

import pytest

from aex_runtime.store.port import (
    Bound,
    Collection,
    Direction,
    Index,
    InvalidDocument,
    Query,
    Scalar,
    Store,
    UndeclaredIndex,
)
from tests.store.contract.documents import OTHERS, WORKS, keys, steps, write


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

    async def test_page_ends_before_its_bytes_with_at_least_one_document(self, store: Store) -> None:
        for number, size in enumerate((10, 20, 30, 100_000)):
            await write(store, f"k{number}", b'"' + b"x" * (size - 2) + b'"', state="open", due=number)
        for most, expected in ((1, 1), (29, 1), (30, 2), (60, 3), (100_059, 3), (100_060, 4), (None, 4)):
            query = Query(WORKS, {"state": "open"}, "due", max_bytes=most)
            assert len(await store.query_page(query)) == expected
        after = Query(WORKS, {"state": "open"}, "due", after=(2, "k2"), max_bytes=1)
        assert await keys(store, after) == ["k3"]

    async def test_query_without_an_ordered_field_is_in_key_order(self, filled: Store) -> None:
        assert await keys(filled, Query(WORKS)) == ["a", "b", "c", "d", "e", "f"]
        assert await keys(filled, Query(WORKS, limit=2)) == ["a", "b"]
        either = {"owner": "x", "state": "open"}
        assert await keys(filled, Query(WORKS, either)) == ["a", "d", "e"]
        assert await keys(filled, Query(WORKS, either, direction="desc", limit=2)) == ["e", "d"]

    async def test_null_matches_null_and_missing(self, filled: Store) -> None:
        assert await keys(filled, Query(WORKS, {"state": None, "owner": None})) == ["f"]
        assert await keys(filled, Query(WORKS, {"state": None}, "due")) == ["f"]

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
        await filled.transact(steps("delete:c"))
        assert await keys(filled, Query(WORKS, {"state": "done"}, "due")) == ["b"]
        assert await keys(filled, Query(WORKS, {"state": "open"}, "due")) == ["a", "d"]

    async def test_later_index_finds_earlier_documents(self, filled: Store) -> None:
        later = Collection("test-works", (Index(equal=("owner",), order="due", direction="desc"),))
        assert await keys(filled, Query(later, {"owner": "x"}, "due", "desc")) == ["d", "a", "c"]

    async def test_undeclared_index_is_refused(self, filled: Store) -> None:
        for query in (
            Query(WORKS, {"owner": "x"}),
            Query(WORKS, order="created"),
            Query(WORKS, order="due", direction="desc"),
            Query(WORKS, {"state": "open"}),
            Query(WORKS, bounds=(Bound(">", 1),)),
            Query(WORKS, direction="desc"),  # Firestore walks through keys forward alone
        ):
            with pytest.raises(UndeclaredIndex):
                await filled.query_page(query)

    async def test_query_for_less_than_one_document_is_refused(self, filled: Store) -> None:
        for limit in (0, -1):
            with pytest.raises(ValueError, match="at least 1"):
                await filled.query_page(Query(WORKS, limit=limit))

    async def test_query_with_invalid_values_is_refused(self, filled: Store) -> None:
        for query in (
            Query(WORKS, order="due", bounds=(Bound(">", 2**63),)),
            Query(WORKS, after=(None, "\ud800")),
            Query(WORKS, after=(None, "a/b")),
            Query(WORKS, {"state": "a\0"}, "due"),
        ):
            with pytest.raises(InvalidDocument):
                await filled.query_page(query)

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
    async def test_pages_together_are_complete(self, store: Store, direction: Direction) -> None:
        for number in range(23):
            await write(store, f"k{number * 7 % 23:02}", state="open", due=number // 5)
        complete = Query(WORKS, {"state": "open"}, "due", direction, limit=100)
        paged: list[str] = []
        after: tuple[Scalar, str] | None = None
        while page := await store.query_page(
            Query(WORKS, complete.equal, "due", complete.direction, after=after, limit=4)
        ):
            paged += [document.key for document in page]
            after = (page[-1].fields["due"], page[-1].key)
        assert paged == await keys(store, complete)
        assert len(paged) == 23

    async def test_page_starts_behind_a_deleted_document(self, filled: Store) -> None:
        assert await keys(filled, Query(WORKS, order="due", after=(2, "cc"))) == ["a", "d", "f"]
        assert await keys(filled, Query(WORKS, after=(None, "cc"))) == ["d", "e", "f"]
        either = {"owner": "x", "state": "open"}
        assert await keys(filled, Query(WORKS, either, after=(None, "cc"))) == ["d", "e"]
        assert await keys(filled, Query(WORKS, either, direction="desc", after=(None, "dd"))) == ["d", "a"]

    async def test_page_starts_behind_null(self, filled: Store) -> None:
        assert await keys(filled, Query(WORKS, order="due", after=(None, "zz"), limit=2)) == ["b", "c"]
        assert await keys(filled, Query(WORKS, {"state": "open"}, "due", "desc", after=(None, "zz"))) == []

    async def test_page_respects_bounds_on_both_sides(self, filled: Store) -> None:
        bounds = (Bound(">=", 2), Bound("<", 9))
        assert await keys(filled, Query(WORKS, order="due", bounds=bounds, after=(0, "zz"))) == ["c", "a", "d"]
        assert await keys(filled, Query(WORKS, order="due", bounds=bounds, after=(3, "a"))) == ["d"]
        assert await keys(filled, Query(WORKS, order="due", bounds=bounds, after=(9, "a"))) == []
        down = Query(WORKS, {"state": "open"}, "due", "desc", bounds)
        assert await keys(filled, replace(down, after=(9, "zz"))) == ["d", "a"]
        assert await keys(filled, replace(down, after=(3, "d"))) == ["a"]
        assert await keys(filled, replace(down, after=(1, "zz"))) == []
