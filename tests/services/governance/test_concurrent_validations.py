"""Concurrent validations of copies and of one agent, on every store."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.repository import PROFILES, RECENT, iterate_pages_by_key_prefix, projected_key
from aex_governance.rules.projection_merging import sum_tallies
from aex_models.governance import Action
from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from tests.services.governance.process import Process, open_process
from tests.services.governance.requests import NOW, numbered_request
from tests.services.governance.texts import OTHER, PROSE, edited

PROCESSES = 4
AT_ONCE = 20


@pytest.fixture(params=["memory", "sqlite", pytest.param("firestore", marks=pytest.mark.emulator)])
async def processes(request: pytest.FixtureRequest, tmp_path: Path, project: str) -> AsyncIterator[Sequence[Process]]:
    memory = MemoryStore()
    async with AsyncExitStack() as stack:
        opened: list[Process] = []
        for _ in range(PROCESSES):
            store: Store = memory
            if request.param == "sqlite":
                store = SQLiteStore(tmp_path / "store.sqlite3")
            elif request.param == "firestore":
                host = request.getfixturevalue("emulators").firestore.host
                store = FirestoreStore(project, emulator=host)
            stack.push_async_callback(store.close)
            opened.append(open_process(store))
        yield opened


@pytest.mark.parametrize(
    ("text", "flagged"),
    [(PROSE, ["duplicate_output"]), (edited(PROSE), ["near_duplicate_output"]), (OTHER, [])],
    ids=["a copy", "a near copy", "another text"],
)
async def test_one_of_two_concurrent_copies_is_flagged(
    processes: Sequence[Process], text: str, flagged: list[str]
) -> None:
    first, second = processes[0].flags(numbered_request(0, PROSE)), processes[1].flags(numbered_request(1, text))
    assert [rule for flags in await asyncio.gather(first, second) for rule in flags] == flagged


async def test_reception_order_does_not_matter_for_concurrent_copies(processes: Sequence[Process]) -> None:
    late = processes[0].flags(numbered_request(0, PROSE, received_at=NOW + timedelta(seconds=9)))
    early = processes[1].flags(numbered_request(1, edited(PROSE), received_at=NOW))
    assert sorted(map(bool, await asyncio.gather(late, early))) == [False, True]


async def test_all_but_one_of_many_concurrent_copies_are_held(processes: Sequence[Process]) -> None:
    answers = await asyncio.gather(
        *(processes[number % PROCESSES].validate(numbered_request(number, PROSE)) for number in range(8))
    )
    assert Counter(each.action for each in answers) == {Action.ALLOW: 1, Action.HOLD: 7}


async def test_concurrent_repeated_requests_get_one_decision(processes: Sequence[Process]) -> None:
    variants = [numbered_request(0, PROSE, extracted_metrics={"accuracy": value}) for value in (0.5, 7, 0.6, -1)]
    answers = await asyncio.gather(*(process.validate(each) for process, each in zip(processes, variants, strict=True)))
    assert len({each.model_dump_json() for each in answers}) == 1
    assert await processes[0].validate(variants[0]) == answers[0]


async def test_concurrent_outcomes_of_an_agent_are_counted_once(processes: Sequence[Process]) -> None:
    requests = [
        numbered_request(number, f"label {number}", agent={"id": "bot"}, extracted_metrics={"accuracy": 1.0})
        for number in range(AT_ONCE)
    ]
    answers = await asyncio.gather(
        *(validate_outcome(processes[number % PROCESSES].deps, each) for number, each in enumerate(requests))
    )
    assert {each.action for each in answers} == {Action.ALLOW}
    store = processes[0].deps.store
    own = [each async for page in iterate_pages_by_key_prefix(store, PROFILES, projected_key(1, "")) for each in page]
    tally = sum_tallies(each.record.tally for each in own)
    assert tally.decisions == {"allow": AT_ONCE}
    assert sum(tally.histograms["accuracy"].counts.values()) == AT_ONCE
    shards = [
        each.record async for page in iterate_pages_by_key_prefix(store, RECENT, projected_key(1, "")) for each in page
    ]
    by_party = Counter[str | None]()
    for each in shards:
        by_party[each.consumer_id] += sum(each.minutes.values())
    assert by_party == {None: AT_ONCE, "acme": AT_ONCE}
