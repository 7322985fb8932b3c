import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.errors import InvalidRequest
from aex_runtime.http.pagination import CursorCodec
from tests.libs.runtime.http.sample import Sample

CODEC = CursorCodec(b"k" * 32, "query")


async def fill(made: Sample, notes: int, sub: str = "acme") -> None:
    async with made.client(sub=sub) as client:
        for number in range(notes):
            await client.post("/v1/notes", json={"text": str(number)})


async def get(made: Sample, sub: str = "acme", role: str = "consumer", **params: Any) -> Any:
    async with made.client(role, sub) as client:
        return await client.get("/v1/notes", params=params)


async def test_pages_follow_each_other_to_the_end(made: Sample) -> None:
    await fill(made, 7)
    seen: list[str] = []
    cursor: str | None = None
    for expected in (3, 3, 1):
        answer = (await get(made, limit=3, **({"cursor": cursor} if cursor else {}))).json()
        assert set(answer) == {"items", "next_cursor"}
        assert len(answer["items"]) == expected
        seen += [note["text"] for note in answer["items"]]
        cursor = answer["next_cursor"]
    assert seen == [str(number) for number in range(7)]
    assert cursor is None


@pytest.mark.parametrize("limit", ["0", "201", "-1", "1.5", "x", ""])
async def test_limit_outside_1_to_200_is_refused(shared: Sample, limit: str) -> None:
    answer = await get(shared, limit=limit)
    assert (answer.status_code, [each["path"] for each in answer.json()["errors"]]) == (422, ["query/limit"])


async def test_default_page_has_fifty_items_and_the_limit_may_change(made: Sample) -> None:
    await fill(made, 52)
    assert len((await get(made)).json()["items"]) == 50
    cursor = (await get(made, limit=1)).json()["next_cursor"]
    assert len((await get(made, limit=200, cursor=cursor)).json()["items"]) == 51


@pytest.mark.parametrize("cursor", ["", "x", "!!!!", "AAAA", "é", base64.urlsafe_b64encode(b"[1,2]" * 9).decode()])
async def test_forged_cursor_is_refused(shared: Sample, cursor: str) -> None:
    answer = await get(shared, cursor=cursor)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")
    assert [each["path"] for each in answer.json()["errors"]] == ["query/cursor"]


@given(st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(), st.text(min_size=1))
def test_position_round_trips(value: Any, key: str) -> None:
    assert CODEC.decode(CODEC.encode((value, key))) == (value, key)


def test_cursor_of_another_installation_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        CODEC.decode(CursorCodec(b"other" * 8, "query").encode((1, "a")))
