from enum import StrEnum

import pytest
from pydantic import ValidationError

from aex_models.frozen import Frozen
from aex_runtime.bus.consumer import OUTAGES
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Collection, Transaction
from aex_runtime.store.table import RecordOfNewerVersion, Table


class State(StrEnum):
    OPEN = "open"


class Party(Frozen):
    name: str


class Task(Frozen):
    state: State
    party: Party
    added: int | None = None


TASKS = Table(Collection("tasks"), Task)


async def stored(body: bytes) -> MemoryStore:
    store = MemoryStore()

    async def write(transaction: Transaction) -> None:
        transaction.create(TASKS.collection, "t1", body, {})

    await store.transact(write)
    return store


async def test_record_of_an_older_version_is_read_with_defaults() -> None:
    found = await TASKS.get(await stored(b'{"state":"open","party":{"name":"a"}}'), "t1")
    assert found is not None
    assert found.record == Task(state=State.OPEN, party=Party(name="a"), added=None)


@pytest.mark.parametrize(
    ("body", "unknown"),
    [
        (b'{"state":"open","party":{"name":"a"},"later":"CANARY"}', "later"),
        (b'{"state":"open","party":{"name":"a","org":"CANARY"}}', "party/org"),
        (b'{"state":"CANARY","party":{"name":"a"}}', "state"),
        (b'{"state":"CANARY","party":{"name":"a","org":null},"later":1}', "later, party/org, state"),
    ],
)
async def test_record_of_a_newer_version_is_an_outage_that_names_its_fields(body: bytes, unknown: str) -> None:
    store = await stored(body)
    with pytest.raises(RecordOfNewerVersion) as raised:
        await TASKS.get(store, "t1")
    assert str(raised.value) == f"tasks/t1: this version does not know {unknown}"
    assert isinstance(raised.value, OUTAGES)  # events wait, requests are retried
    assert raised.value.__cause__ is None  # which would quote it


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"state":"open"}',
        b'{"state":"open","party":{"name":1}}',
        b'{"state":"CANARY","party":{"name":1},"later":1}',
        b'{"state":null,"party":{"name":"a"}}',
        b'{"state":"","party":{"name":"a"}}',
    ],
)
async def test_invalid_record_is_no_outage(body: bytes) -> None:
    store = await stored(body)
    with pytest.raises(ValidationError):
        await TASKS.get(store, "t1")
