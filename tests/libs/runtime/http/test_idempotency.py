import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from aex_runtime.clock import SetClock
from aex_runtime.errors import Conflict, InvalidRequest, Unprocessable
from aex_runtime.http.idempotency import IdempotencyPurge, IdempotentRequest, idempotency_table, run_idempotent
from aex_runtime.ids import RandomIds
from aex_runtime.leases import Leases
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import AlreadyExists, Store
from aex_runtime.unit_of_work import Unit, UnitOfWork
from tests.libs.runtime.background import RecordingStore
from tests.libs.runtime.http.sample import NOTES, SERVICE, Note, Sample, memory_backends, sample

NOW = datetime(2026, 5, 1, tzinfo=UTC)
BODY = {"text": "hello"}


async def post(client: httpx.AsyncClient, key: str | None = "k-1", body: Any = BODY) -> httpx.Response:
    return await client.post("/v1/notes", json=body, headers={} if key is None else {"Idempotency-Key": key})


async def count(made: Sample) -> int:
    async with made.client("consumer") as client:
        return len((await client.get("/v1/notes", params={"limit": 200})).json()["items"])


async def test_repeat_is_replayed_with_a_header(made: Sample) -> None:
    async with made.client() as client:
        first, second = await post(client), await post(client)
    assert (first.status_code, second.status_code) == (201, 201)
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    assert first.json() == second.json()
    assert await count(made) == 1


async def test_equal_json_in_other_notation_is_the_same_body(shared: Sample) -> None:
    async with shared.client(sub="notation") as client:
        headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}
        await client.post("/v1/notes", content=b'{"text":"a","stars":1,"score":1.50}', headers=headers)
        repeat = await client.post(
            "/v1/notes", content=b'{ "score": 1.5, "stars": 1, "text": "\\u0061" }', headers=headers
        )
    assert repeat.headers["idempotent-replayed"] == "true"


async def test_key_with_another_body_is_refused_and_no_key_repeats_the_effect(made: Sample) -> None:
    async with made.client() as client:
        assert (await post(client, body={"text": 5})).status_code == 422  # a failed request leaves its key free
        assert (await post(client)).status_code == 201
        reused = await post(client, body={"text": "other"})
        for _ in range(2):
            await post(client, None)
    assert (reused.status_code, reused.json()["code"]) == (422, "idempotency_key_reused")
    assert await count(made) == 3


async def test_key_has_1_to_255_printable_characters(made: Sample) -> None:
    async with made.client() as client:
        for key in ("", "x" * 256, "tab\there"):
            answer = await post(client, key)
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_idempotency_key")
            assert [each["path"] for each in answer.json()["errors"]] == ["header/Idempotency-Key"]
        assert await count(made) == 0
        assert (await post(client, "x" * 255)).status_code == 201
        assert (await post(client, "x" * 255)).headers["idempotent-replayed"] == "true"


async def test_two_processes_racing_on_one_key_have_one_effect(tmp_path: Path) -> None:
    backends = memory_backends()
    first, second = (sample(tmp_path / "data", backends) for _ in range(2))
    async with first.client() as one, second.client() as two:
        answers = await asyncio.gather(*(post(client) for _ in range(10) for client in (one, two)))
        made_notes = {answer.json()["note_id"] for answer in answers if answer.status_code == 201}
        assert (await post(one)).json()["note_id"] in made_notes
    refused = {
        (answer.status_code, answer.json()["code"], answer.headers["retry-after"])
        for answer in answers
        if answer.status_code != 201
    }
    assert refused <= {(409, "idempotency_in_flight", "1")}
    assert len(made_notes) == 1
    assert await count(first) == 1


def request(key: str | None = "k", digest: str = "d") -> IdempotentRequest:
    return IdempotentRequest("consumer\x1facme\x1f\x1fPOST\x1f/v1/notes", key, digest)


def unit_of_work(store: Store, clock: SetClock | None = None) -> UnitOfWork:
    return UnitOfWork(SERVICE, store, clock or SetClock(NOW), lambda _: None)


def creates(note_id: str) -> Any:
    async def fn(unit: Unit) -> str:
        unit.create(NOTES, note_id, Note(note_id=note_id, owner="acme", text="t", created_at=unit.now))
        return note_id

    return fn


async def test_a_failure_inside_the_transaction_is_not_recorded() -> None:
    async def fails(_: Unit) -> str:
        raise InvalidRequest("odd", "it is odd")

    uow, key_request = unit_of_work(MemoryStore()), request()
    with pytest.raises(InvalidRequest):
        await run_idempotent(uow, key_request, fails)
    assert not (await run_idempotent(uow, key_request, creates("n1"))).is_replay


@pytest.mark.parametrize("digest", ["d", "other"])
async def test_key_of_a_concurrent_process_is_replayed_or_refused(digest: str) -> None:
    store = MemoryStore()

    async def loses(unit: Unit) -> str:
        if not await NOTES.get(store, "won"):
            await run_idempotent(unit_of_work(store), request(), creates("won"))
        return await creates("lost")(unit)  # type: ignore[no-any-return]

    if digest == "other":
        with pytest.raises(Unprocessable):
            await run_idempotent(unit_of_work(store), request(digest=digest), loses)
    else:
        effect = await run_idempotent(unit_of_work(store), request(), loses)
        assert (effect.resource_id, effect.is_replay) == ("won", True)
    assert await NOTES.get(store, "lost") is None


class Slower(MemoryStore):
    def __init__(self, losses: int = 1) -> None:
        super().__init__()
        self.losses = losses

    async def transact(self, fn: Any) -> Any:
        if self.losses:
            if self.losses == 1:  # the last conflict is with a record that is there
                self.losses = 0
                await run_idempotent(unit_of_work(self), request(), creates("won"))
            self.losses = max(self.losses - 1, 0)
            raise AlreadyExists(f"{SERVICE}-idempotency", request().record_key)
        return await super().transact(fn)


async def test_conflict_at_the_commit_is_retried_some_times() -> None:
    effect = await run_idempotent(unit_of_work(Slower()), request(), creates("lost"))
    assert (effect.resource_id, effect.is_replay) == ("won", True)
    with pytest.raises(Conflict) as caught:
        await run_idempotent(unit_of_work(Slower(losses=100)), request(), creates("n1"))
    assert caught.value.retry_after_s == 1


async def test_existing_resource_reaches_the_handler() -> None:
    uow = unit_of_work(MemoryStore())
    await run_idempotent(uow, request("k1"), creates("same"))
    with pytest.raises(AlreadyExists):
        await run_idempotent(uow, request("k2"), creates("same"))


async def test_key_is_released_after_a_failure() -> None:
    uow, key_request = unit_of_work(MemoryStore()), request()
    inside = asyncio.Event()

    async def hangs(_: Unit) -> str:
        inside.set()
        await asyncio.Event().wait()
        return ""

    running = asyncio.create_task(run_idempotent(uow, key_request, hangs))
    await inside.wait()
    with pytest.raises(Conflict) as caught:
        await run_idempotent(uow, key_request, creates("n1"))
    assert caught.value.retry_after_s == 1
    running.cancel()
    await asyncio.wait([running])
    assert (await run_idempotent(uow, key_request, creates("n1"))).resource_id == "n1"


async def test_keys_are_kept_for_32_days_and_then_removed() -> None:
    store, clock = MemoryStore(), SetClock(NOW)
    uow = unit_of_work(store, clock)
    purge = IdempotencyPurge(SERVICE, store, clock, RandomIds(), Leases(SERVICE, store, clock, "test"))
    for number in range(20):
        await run_idempotent(uow, request(f"k{number}"), creates(f"n{number}"))
    clock.advance(timedelta(days=32))
    assert await purge.purge() == 0
    assert (await run_idempotent(uow, request("k7"), creates("again"))).resource_id == "n7"
    clock.advance(timedelta(days=2))
    assert await purge.purge() == 20
    assert await idempotency_table(SERVICE).find(store, order="expires_at") == []


async def test_purge_continues_after_deleted_records() -> None:
    store, clock = RecordingStore(MemoryStore()), SetClock(NOW)
    purge = IdempotencyPurge(SERVICE, store, clock, RandomIds(), Leases(SERVICE, store, clock, "test"))
    for number in range(205):
        await run_idempotent(unit_of_work(store, clock), request(f"k{number}"), creates(f"n{number}"))
        clock.advance(timedelta(milliseconds=number % 2))  # some expire together
    clock.advance(timedelta(days=40))
    assert await purge.purge() == 205
    first, *others = [query.after for query in store.take_queries()]
    assert first is None
    assert None not in others
    assert len(others) == len(set(others)) == 2
