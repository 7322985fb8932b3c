import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from aex_models.audiences import Audience
from aex_models.canonical import sha256_hex
from aex_runtime.identity.principals import Principal
from aex_runtime.quotas import Quota, StorageBounds, quotas_table
from tests.libs.runtime.artifacts.test_routes import Shelf, in_pieces, opened, served
from tests.libs.runtime.http.sample import SERVICE

LIMIT = 1_000
FIRST, SECOND, REST = b"a" * 600, b"b" * 500, b"c" * 400


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    async with opened(tmp_path, bounds=StorageBounds(LIMIT)) as made:
        yield made


@pytest.fixture
async def open_shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    async with served(tmp_path, bounds=StorageBounds(LIMIT)) as made:
        yield made


async def used(shelf: Shelf, consumer: str = "acme") -> int:
    quota = Quota(quotas_table(SERVICE), Principal(consumer, Audience.CONSUMER), 0)
    return await quota.load_used_bytes(shelf.backends.store)


@pytest.mark.parametrize("is_announced", [True, False])
async def test_upload_above_the_quota_leaves_nothing(shelf: Shelf, is_announced: bool) -> None:
    async with shelf.client() as client, shelf.client("rival") as rival:
        assert (await client.put("/v1/artifacts", content=FIRST)).status_code == 201
        content = SECOND if is_announced else in_pieces(SECOND, 100)
        refused = await client.put("/v1/artifacts", content=content, headers={"Idempotency-Key": "k"})
        problem = refused.json()
        assert (refused.status_code, problem["code"]) == (413, "storage_quota_exceeded")
        assert (problem["used"], problem["limit"]) == (600, LIMIT)
        assert "of 500 bytes does not fit: your uploads have 600 of at most 1000 bytes" in problem["detail"]
        assert [file.name for file in shelf.files()] == [sha256_hex(FIRST)]
        assert (await client.get(f"/v1/artifacts/{sha256_hex(SECOND)}")).status_code == 404
        fitting = await client.put("/v1/artifacts", content=REST, headers={"Idempotency-Key": "k"})
        assert (fitting.status_code, (await rival.put("/v1/artifacts", content=SECOND)).status_code) == (201, 201)
    assert (await used(shelf), await used(shelf, "rival")) == (LIMIT, 500)


async def test_repeated_file_counts_once_and_fits_a_full_quota(shelf: Shelf) -> None:
    async with shelf.client() as client:
        for content in (FIRST, FIRST, in_pieces(FIRST, 100), REST, FIRST, in_pieces(FIRST, 100)):
            assert (await client.put("/v1/artifacts", content=content)).status_code == 201
        assert (await client.put("/v1/artifacts", content=b"d")).status_code == 413
    assert await used(shelf) == LIMIT


async def test_file_larger_than_the_quota_is_refused(open_shelf: Shelf) -> None:
    content = b"x" * (LIMIT + 1)
    async with open_shelf.client() as client:
        announced = await client.put("/v1/artifacts", content=content)
        streamed = await client.put("/v1/artifacts", content=in_pieces(content * 1_000))
        assert [each.json()["code"] for each in (announced, streamed)] == ["storage_quota_exceeded"] * 2
        assert "this upload does not fit" in streamed.json()["detail"]
        assert (await client.put("/v1/artifacts", content=content[1:])).status_code == 201
    assert await used(open_shelf) == LIMIT


async def test_concurrent_uploads_share_the_quota(shelf: Shelf) -> None:
    async with shelf.client() as client:
        files = [bytes([65 + number]) * 400 for number in range(4)]
        answers = await asyncio.gather(*(client.put("/v1/artifacts", content=each) for each in files))
        equal = await asyncio.gather(*(client.put("/v1/artifacts", content=b"e" * 200) for _ in range(4)))
    assert Counter(each.status_code for each in answers) == {201: 2, 413: 2}
    assert [each.status_code for each in equal] == [201] * 4
    assert await used(shelf) == LIMIT


async def test_unlimited_uploads_are_counted(tmp_path: Path) -> None:
    async with opened(tmp_path) as shelf, shelf.client() as client:
        await client.put("/v1/artifacts", content=FIRST)
        await client.put("/v1/artifacts", content=b"")
        assert await used(shelf) == 600


async def test_nearly_full_disk_refuses_uploads(tmp_path: Path) -> None:
    for minimum, status in ((1 << 62, 503), (1, 201)):
        async with opened(tmp_path, bounds=StorageBounds(0, tmp_path, minimum)) as shelf, shelf.client() as client:
            answer = await client.put("/v1/artifacts", content=FIRST)
            assert answer.status_code == status
            if status == 503:
                assert (answer.json()["code"], answer.headers["retry-after"]) == ("storage_low", "30")
                assert shelf.files() == []
