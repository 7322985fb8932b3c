from dataclasses import replace

import pytest

from aex_runtime.store.port import Bound, Direction, Query, Scalar, Store
from tests.store.contract.documents import WORKS, keys, write
from tests.store.contract.filled import Filled


class Pages(Filled):
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
        while page := await store.query(Query(WORKS, complete.equal, "due", complete.direction, after=after, limit=4)):
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
