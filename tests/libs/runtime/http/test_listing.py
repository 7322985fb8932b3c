import asyncio
import gc
import json
import threading
import time
import tracemalloc
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from aex_models.canonical import canonical_bytes
from aex_models.frozen import Frozen
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.errors import TemporarilyUnavailable, Unprocessable
from aex_runtime.http.large_pages import LargePages, LongValues, PageReader
from aex_runtime.http.listing import MAX_PAGE_BYTES, Listing, Partial, read_page_as_json
from aex_runtime.http.long_values import LONG_BYTES
from aex_runtime.http.pagination import CursorCodec, PageRequest, collect_filters
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import SPILL_BYTES, Collection, Document, Index, Store
from aex_runtime.store.spill import SpillingStore
from aex_runtime.store.table import Table

LARGE = 2_700_000


class Letter(Frozen):
    letter_id: str
    colour: str
    at: int
    text: str = ""
    beside: str | None = None
    """Another letter that its rendering reads."""


COLOURS = ("green", "red")
LETTERS = Table(
    Collection("letters", (Index(("colour",), "at", "desc"), Index(("colour",), "at"))),
    Letter,
    lambda letter: {"colour": letter.colour, "at": letter.at},
)


class CountingStore(SpillingStore):
    """Counts the bodies that are loaded."""

    loaded = 0

    async def get(self, collection: Collection, key: str) -> Document | None:
        self.loaded += 1
        return await super().get(collection, key)


async def stored(*letters: Letter, store: CountingStore | None = None) -> CountingStore:
    made = store or CountingStore(MemoryStore(), open_blobs("memory:"))
    for each in letters:
        body, fields = LETTERS.encode(each)

        async def write(transaction: Any, key: str = each.letter_id, body: bytes = body, fields: Any = fields) -> None:
            transaction.put(LETTERS.collection, key, body, fields)

        await made.transact(write)
    return made


def paging(limit: int = 50, after: Any = None, slots: LargePages | None = None) -> PageRequest:
    return PageRequest(limit, after, CursorCodec(b"k" * 32, "query"), slots or LargePages())


async def render(pages: PageReader, letter: Letter) -> dict[str, Any]:
    beside = await pages.count_and_load_record(LETTERS, letter.beside) if letter.beside else None
    return {**letter.model_dump(), "beside": beside and beside.text}


async def page(store: Store, request: PageRequest, listing: Listing[Letter] | None = None) -> dict[str, Any]:
    listing = listing or Listing(LETTERS, [{"colour": "green"}], "at")
    found: dict[str, Any] = json.loads(await read_page_as_json(store, listing, request, render))
    return found


async def pages_of(store: Store, limit: int, listing: Listing[Letter] | None = None) -> list[list[dict[str, Any]]]:
    request, found = paging(limit), list[list[dict[str, Any]]]()
    while True:
        answer = await page(store, request, listing)
        found.append(answer["items"])
        if answer["next_cursor"] is None:
            return found
        request = paging(limit, request.codec.decode(answer["next_cursor"]))


def letters(*sizes: int, **fields: Any) -> list[Letter]:
    return [
        Letter(**({"letter_id": f"l{at:03}", "colour": "green", "at": at, "text": "x" * size} | fields))
        for at, size in enumerate(sizes)
    ]


_SIZES = st.sampled_from([10, SPILL_BYTES - 100, SPILL_BYTES + 1, MAX_PAGE_BYTES // 2, MAX_PAGE_BYTES, LARGE])
_ROWS = st.lists(st.tuples(_SIZES, st.sampled_from(COLOURS), st.integers(0, 3)), max_size=12)


@given(_ROWS, st.integers(1, 5), st.sampled_from(["asc", "desc"]))
async def test_cursor_gives_each_record_of_all_sets_once_in_order(
    rows: list[tuple[int, str, int]], limit: int, direction: Any
) -> None:
    made = [
        Letter(letter_id=f"l{number:03}", colour=colour, at=at, text="x" * size)
        for number, (size, colour, at) in enumerate(rows)
    ]
    store = await stored(*made)
    listing = Listing(LETTERS, [{"colour": each} for each in COLOURS], "at", direction)
    found = await pages_of(store, limit, listing)
    listed = [each["letter_id"] for items in found for each in items]
    expected = sorted(made, key=lambda each: (each.at, each.letter_id), reverse=direction == "desc")
    assert listed == [each.letter_id for each in expected]
    for items in found:
        assert len(items) <= limit
        assert len(items) < 2 or sum(len(each["text"]) for each in items) <= MAX_PAGE_BYTES
    assert all(found[:-1]), "only the last page may be empty"


async def test_page_ends_by_bytes_of_what_its_rendering_reads() -> None:
    side = Letter(letter_id="side", colour="red", at=0, text="y" * 600_000)
    store = await stored(side, *letters(10, 10, 10, beside="side"))
    assert [len(items) for items in await pages_of(store, 50)] == [1, 1, 1]
    small = Letter(letter_id="side", colour="red", at=0, text="y")
    assert [len(items) for items in await pages_of(await stored(small, store=store), 50)] == [3]


async def test_page_of_partial_records_does_not_reveal_the_size_of_their_hidden_parts() -> None:
    """A reader without `text` gets equal pages, whatever it is, and whether the records match or not."""

    async def hide(_: PageReader, letter: Letter) -> Partial[dict[str, Any]]:
        return Partial({"letter_id": letter.letter_id, "beside": letter.beside})

    made = [await stored(*letters(*sizes)) for sizes in ([10] * 5, [LARGE] * 5, [10, LARGE, 10, 600_000, 600_000])]
    green = [{"colour": "green"}]
    every = Listing(LETTERS, green, "at", hidden_bytes=1_000)
    some = Listing(LETTERS, green, "at", matches=lambda letter: letter.at in {0, 3}, hidden_bytes=1_000)
    for listing in (every, some):
        found = [await read_page_as_json(store, listing, paging(), hide) for store in made]
        assert found[0] == found[1] == found[2]
        assert json.loads(found[0])["next_cursor"] is None


async def test_partial_records_count_what_is_seen_and_a_share_for_what_is_not() -> None:
    async def show(pages: PageReader, letter: Letter) -> Partial[dict[str, Any]]:
        return Partial(await render(pages, letter))

    hidden = Listing(LETTERS, [{"colour": "green"}], "at", hidden_bytes=MAX_PAGE_BYTES // 3)
    first = json.loads(await read_page_as_json(await stored(*letters(*[10] * 5)), hidden, paging(), show))
    assert len(first["items"]) == 2
    seen = Listing(LETTERS, [{"colour": "green"}], "at", hidden_bytes=0)
    first = json.loads(await read_page_as_json(await stored(*letters(*[600_000] * 3)), seen, paging(), show))
    assert [len(each["text"]) for each in first["items"]] == [600_000]


async def test_hidden_parts_of_a_page_take_no_memory() -> None:
    async def hide(_: PageReader, letter: Letter) -> Partial[dict[str, Any]]:
        return Partial({"letter_id": letter.letter_id})

    store = await stored(*letters(*[LARGE] * 20))
    listing = Listing(LETTERS, [{"colour": "green"}], "at", hidden_bytes=1_000)
    gc.collect()
    tracemalloc.start()
    try:
        assert len(json.loads(await read_page_as_json(store, listing, paging(), hide))["items"]) == 20
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * LARGE, f"{peak / 1e6:.0f} MB"


async def test_record_that_does_not_match_is_left_out_and_passed() -> None:
    store = await stored(*letters(10, 10, 10, 10, 10))
    listing = Listing(LETTERS, [{"colour": "green"}], "at", matches=lambda each: each.at in {0, 3})
    found = [[each["at"] for each in items] for items in await pages_of(store, 2, listing)]
    assert found == [[3], [], [0]]


async def test_no_body_is_loaded_before_a_slot_is_free() -> None:
    store = await stored(*letters(LARGE, LARGE), *letters(10, colour="red", letter_id="small"))
    slots = LargePages(1, wait_s=0.01)
    await slots.acquire_slot()
    with pytest.raises(TemporarilyUnavailable) as refused:
        await page(store, paging(slots=slots))
    assert (refused.value.code, refused.value.retry_after_s, store.loaded) == ("lists_busy", 1, 0)
    small = await page(store, paging(slots=slots), Listing(LETTERS, [{"colour": "red"}], "at"))
    assert len(small["items"]) == 1, "a small page needs no slot"
    slots.release_slot()
    assert len((await page(store, paging(slots=slots)))["items"]) == 1


async def test_slots_bound_large_pages_and_are_freed_after_failures() -> None:
    store, slots = await stored(*letters(LARGE)), LargePages(2)
    pair, running, most = asyncio.Barrier(2), 0, 0

    async def count(_: PageReader, letter: Letter) -> dict[str, Any]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await pair.wait()
        running -= 1
        raise LookupError(letter.letter_id)

    listing = Listing(LETTERS, [{"colour": "green"}], "at")
    calls = (read_page_as_json(store, listing, paging(slots=slots), count) for _ in range(8))
    assert {type(each) for each in await asyncio.gather(*calls, return_exceptions=True)} == {LookupError}
    assert most == 2
    assert len((await page(store, paging(slots=slots)))["items"]) == 1


async def test_large_pages_are_computed_one_at_a_time() -> None:
    store, slots = await stored(*letters(LARGE)), LargePages()
    computing = threading.Lock()

    def compute() -> dict[str, Any]:
        assert computing.acquire(blocking=False)
        time.sleep(0.01)
        computing.release()
        return {}

    async def render_slowly(pages: PageReader, _: Letter) -> dict[str, Any]:
        return await pages.run_in_thread_if_large(compute)

    listing = Listing(LETTERS, [{"colour": "green"}], "at")
    await asyncio.gather(*(read_page_as_json(store, listing, paging(slots=slots), render_slowly) for _ in range(4)))


async def test_record_deleted_while_it_is_read_is_left_out() -> None:
    store = await stored(*letters(LARGE, 10))
    listing = Listing(LETTERS, [{"colour": "green"}], "at")

    async def delete_other(pages: PageReader, letter: Letter) -> dict[str, Any]:
        await store.transact(_delete("l000"))
        return await render(pages, letter)

    first = json.loads(await read_page_as_json(store, listing, paging(1), delete_other))
    after = paging().codec.decode(first["next_cursor"])
    assert (await page(store, paging(1, after)))["items"] == []


def _delete(key: str) -> Callable[[Any], Any]:
    async def delete(transaction: Any) -> None:
        transaction.delete(LETTERS.collection, key)

    return delete


async def test_memory_of_a_list_does_not_grow_with_its_records(tmp_path: Path) -> None:
    store = CountingStore(MemoryStore(), open_blobs(f"file:///{tmp_path}/blobs"))
    for each in range(40):
        await stored(*letters(LARGE, letter_id=f"l{each:03}", at=each), store=store)
    gc.collect()
    tracemalloc.start()
    try:
        assert sum(map(len, await _counted_pages(store))) == 40
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * LARGE, f"{peak / 1e6:.0f} MB"


async def _counted_pages(store: Store) -> list[list[str]]:
    request, found = paging(200), list[list[str]]()
    while True:
        answer = await page(store, request)
        found.append([each["letter_id"] for each in answer["items"]])
        if answer["next_cursor"] is None:
            return found
        request = paging(200, request.codec.decode(answer["next_cursor"]))


_TEXT = st.text(st.sampled_from('a"\\\n é漢'), max_size=8)
_LONG = st.builds(lambda text, number: text * number, _TEXT, st.sampled_from([1, LONG_BYTES]))
_JSON = st.recursive(_LONG, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3))


@given(_JSON)
def test_long_strings_come_back_unchanged(value: Any) -> None:
    body, strings = canonical_bytes({"value": value, "n": 1}), LongValues()
    taken = strings.replace_by_placeholders(body)
    assert json.loads(taken).keys() == {"value", "n"}
    assert strings.restore_values(taken) == body


def test_long_list_of_short_strings_is_not_parsed() -> None:
    terms = [f'{number}, "quoted",' for number in range(2_000)]
    value = {"first": [*terms, ["]", *terms]], "second": {"a": terms, "b": [1, *terms]}, "third": ["short", "list"]}
    body, strings = canonical_bytes(value), LongValues()
    taken = strings.replace_by_placeholders(body)
    found = json.loads(taken)
    assert [len(found["first"]), len(found["first"][1]), len(found["second"]["a"])] == [2, 1, 1]
    assert (found["second"]["b"], found["third"]) == ([1, *terms], ["short", "list"])
    assert strings.restore_values(taken) == body


class Parcel(Frozen):
    at: int
    codes: tuple[Annotated[str, Field(max_length=4)], ...] = ()
    content: dict[str, Any] = {}


PARCELS = Table(
    Collection("parcels", (Index((), "at"),)),
    Parcel,
    lambda each: {"at": each.at},
    opaque_fields=frozenset({"content"}),
)


async def test_list_copies_long_values_of_opaque_fields_unparsed() -> None:
    parcel = Parcel(at=1, content={"rows": [{"name": f'"{number}"', "share": 0.5} for number in range(9_000)]})
    assert await _list_parcel(parcel) == parcel


async def test_record_that_no_placeholder_fits_is_listed() -> None:
    parcel = Parcel(at=1, codes=("abcd",) * 9_000, content={"rows": [1]})
    assert await _list_parcel(parcel) == parcel


async def _list_parcel(parcel: Parcel) -> Parcel:
    store = MemoryStore()
    body, fields = PARCELS.encode(parcel)

    async def write(transaction: Any) -> None:
        transaction.put(PARCELS.collection, "p", body, fields)

    async def render_content(_: PageReader, record: Parcel) -> dict[str, Any]:
        assert len(str(record.content)) < 100, "a placeholder"
        return record.model_dump()

    await store.transact(write)
    page = await read_page_as_json(store, Listing(PARCELS, [{}], "at", "asc"), paging(), render_content)
    [item] = json.loads(page)["items"]
    return Parcel.model_validate(item)


def test_long_string_is_not_parsed_and_may_be_left_out() -> None:
    strings = LongValues()
    first, second = ("a" * LARGE, "b" * LARGE)
    taken = [json.loads(strings.replace_by_placeholders(canonical_bytes({"text": each}))) for each in (first, second)]
    assert all(len(each["text"]) < 100 for each in taken)
    assert json.loads(strings.restore_values(json.dumps([taken[1]]).encode())) == [{"text": second}]


def test_placeholder_of_a_long_string_is_valid_base64() -> None:
    body = canonical_bytes(["a" * LONG_BYTES] * 11)
    for each in json.loads(LongValues().replace_by_placeholders(body)):
        assert len(each) < 100
        assert b64decode(each, validate=True)


def test_body_of_very_many_strings_is_left_as_it_is() -> None:
    body = canonical_bytes([*["a"] * 50_000, "b" * LARGE])
    assert LongValues().replace_by_placeholders(body) is body


def test_more_than_two_filters_are_refused() -> None:
    assert collect_filters({"agent_id": "a", "cause": None, "domain": "d"}) == {"agent_id": "a", "domain": "d"}
    with pytest.raises(Unprocessable, match="at most 2 of the filters agent_id, cause, domain: these are") as refused:
        collect_filters({"agent_id": "a", "cause": "c", "domain": "d"})
    assert refused.value.code == "too_many_filters"
