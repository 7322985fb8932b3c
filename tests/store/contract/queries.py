import pytest

from aex_runtime.store.port import (
    Bound,
    Collection,
    Index,
    InvalidDocument,
    Query,
    Scalar,
    Store,
    UndeclaredIndex,
)
from tests.store.contract.documents import WORKS, keys, steps, write
from tests.store.contract.filled import Filled


class Queries(Filled):
    async def test_order_is_by_value_then_key(self, filled: Store) -> None:
        assert await keys(filled, Query(WORKS, order="due")) == ["b", "c", "a", "d", "f"]
        assert await keys(filled, Query(WORKS, {"state": "open"}, "due")) == ["b", "a", "d"]
        assert await keys(filled, Query(WORKS, {"state": "open"}, "due", "desc")) == ["d", "a", "b"]

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
                await filled.query(query)

    async def test_query_for_less_than_one_document_is_refused(self, filled: Store) -> None:
        for limit in (0, -1):
            with pytest.raises(ValueError, match="at least 1"):
                await filled.query(Query(WORKS, limit=limit))

    async def test_query_with_invalid_values_is_refused(self, filled: Store) -> None:
        for query in (
            Query(WORKS, order="due", bounds=(Bound(">", 2**63),)),
            Query(WORKS, after=(None, "\ud800")),
            Query(WORKS, after=(None, "a/b")),
            Query(WORKS, {"state": "a\0"}, "due"),
        ):
            with pytest.raises(InvalidDocument):
                await filled.query(query)
