"""Copies that arrive at the same moment, and one agent's outcomes all at once: on every store."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.repository.projections import PACES, PROFILES, documents_under, generation_prefix
from aex_governance.rules.projection.merging import summed
from aex_models.governance import Action, ValidationRequest
from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from tests.services.governance.asking import NOW, asked
from tests.services.governance.kit import Desk, desk_over
from tests.services.governance.texts import OTHER, PROSE, edited, hash_of

PROCESSES = 4
AT_ONCE = 50


@pytest.fixture(params=["memory", "sqlite", pytest.param("firestore", marks=pytest.mark.emulator)])
async def desks(request: pytest.FixtureRequest, tmp_path: Path, project: str) -> AsyncIterator[Sequence[Desk]]:
    """Processes of governance, each with a connection of its own to the one store."""
    memory = MemoryStore()
    async with AsyncExitStack() as stack:
        opened: list[Desk] = []
        for _ in range(PROCESSES):
            store: Store = memory
            if request.param == "sqlite":
                store = SQLiteStore(tmp_path / "store.sqlite3")
            elif request.param == "firestore":
                host = request.getfixturevalue("emulators").firestore.host
                store = FirestoreStore(project, emulator=host)
            stack.push_async_callback(store.close)
            opened.append(desk_over(store))
        yield opened


def delivered(number: int, text: str, **changes: Any) -> ValidationRequest:
    """Delivered by an agent of its own on a work of its own."""
    names = {"attempt_id": f"att_{number}", "contract_id": f"ctr_{number}", "work_id": f"work_{number}"}
    plain = {"agent": {"id": f"bot_{number}"}, "output_text": text, "output_hash": hash_of(text)}
    return asked(**{**names, **plain, **changes})


async def test_of_two_copies_at_the_same_moment_one_is_flagged(desks: Sequence[Desk]) -> None:
    raised = await asyncio.gather(*(desk.flags(delivered(number, PROSE)) for number, desk in enumerate(desks[:2])))
    assert sorted("duplicate_output" in flags for flags in raised) == [False, True]


async def test_of_two_near_copies_at_the_same_moment_one_is_flagged(desks: Sequence[Desk]) -> None:
    texts = (PROSE, edited(PROSE))
    raised = await asyncio.gather(
        *(desk.flags(delivered(number, text)) for number, (desk, text) in enumerate(zip(desks, texts, strict=False)))
    )
    assert sorted("near_duplicate_output" in flags for flags in raised) == [False, True]


@pytest.mark.parametrize("text", [PROSE, edited(PROSE)], ids=["a copy", "a near copy"])
async def test_of_two_at_the_same_moment_one_is_flagged_whichever_was_received_first(
    desks: Sequence[Desk], text: str
) -> None:
    requests = (delivered(0, PROSE, received_at=NOW + timedelta(seconds=9)), delivered(1, text, received_at=NOW))
    raised = await asyncio.gather(*(desk.flags(each) for desk, each in zip(desks, requests, strict=False)))
    assert sorted(bool(flags) for flags in raised) == [False, True]


async def test_of_many_copies_at_the_same_moment_all_but_one_are_held(desks: Sequence[Desk]) -> None:
    answers = await asyncio.gather(*(desks[number % PROCESSES].asked(delivered(number, PROSE)) for number in range(8)))
    assert Counter(each.action for each in answers) == {Action.ALLOW: 1, Action.HOLD: 7}


async def test_different_texts_at_the_same_moment_are_left_alone(desks: Sequence[Desk]) -> None:
    raised = await asyncio.gather(
        *(
            desk.flags(delivered(number, text))
            for number, (desk, text) in enumerate(zip(desks, (PROSE, OTHER), strict=False))
        )
    )
    assert raised == [{}, {}]


async def test_one_question_asked_of_all_at_once_has_one_answer(desks: Sequence[Desk]) -> None:
    variants = [delivered(0, PROSE, extracted_metrics={"accuracy": value}) for value in (0.5, 7, 0.6, -1)]
    answers = await asyncio.gather(*(desk.asked(each) for desk, each in zip(desks, variants, strict=True)))
    assert len({each.model_dump_json() for each in answers}) == 1
    assert await desks[0].asked(variants[0]) == answers[0]


async def test_an_agents_outcomes_all_at_once_are_all_decided_and_counted_once(desks: Sequence[Desk]) -> None:
    requests = [
        delivered(number, f"label {number}", agent={"id": "bot"}, extracted_metrics={"accuracy": 1.0})
        for number in range(AT_ONCE)
    ]
    answers = await asyncio.gather(
        *(validate_outcome(desks[number % PROCESSES].deps, each) for number, each in enumerate(requests))
    )
    assert {each.action for each in answers} == {Action.ALLOW}
    store = desks[0].deps.store
    own = [each async for page in documents_under(store, PROFILES, generation_prefix(1)) for each in page]
    tally = summed(each.record.tally for each in own)
    assert tally.decisions == {"allow": AT_ONCE}
    assert sum(tally.histograms["accuracy"].counts.values()) == AT_ONCE
    paces = [each.record async for page in documents_under(store, PACES, generation_prefix(1)) for each in page]
    by_party = Counter[str | None]()
    for each in paces:
        by_party[each.consumer_id] += sum(each.minutes.values())
    assert by_party == {None: AT_ONCE, "acme": AT_ONCE}
