"""From a request to a decision that stands, and to what governance remembers of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from aex_governance.handlers.log_outcome import log_outcome
from aex_governance.repository.log import OUTCOMES, VALIDATIONS
from aex_governance.repository.projections import (
    HEAD,
    HEAD_KEY,
    PROFILES,
    TABLES,
    ProjectionHead,
    documents_under,
    read_head,
)
from aex_governance.rules.projection.records import ValidationRecord
from aex_models.contract import ContractStatus
from aex_models.events import OutcomeVerified
from aex_models.governance import Action, Severity, ValidationRequest
from aex_runtime.store.buffer import BufferedTransaction
from aex_runtime.store.keys import key_of
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import StoreUnavailable, Transaction
from tests.services.governance.asking import NOW, an_ended, asked
from tests.services.governance.kit import Desk, desk_over
from tests.services.governance.rules.test_bounds import HUGE
from tests.services.governance.rules.test_text import NOT_FREE
from tests.services.governance.texts import CHINESE, OTHER, PROSE, edited, hash_of

T = TypeVar("T")


@pytest.fixture
def desk() -> Desk:
    return desk_over()


def delivered(number: int, text: str | None = None, **changes: Any) -> ValidationRequest:
    """Delivered by an agent of its own on a work of its own."""
    names = {"attempt_id": f"att_{number}", "contract_id": f"ctr_{number}", "work_id": f"work_{number}"}
    plain = {"agent": {"id": f"bot_{number}"}, "output_text": text, "output_hash": hash_of(text or "")}
    return asked(**{**names, **plain, **changes})


async def record_of(desk: Desk, attempt_id: str) -> ValidationRecord:
    stored = await VALIDATIONS.get(desk.deps.store, key_of(attempt_id))
    assert stored is not None
    return stored.record


@pytest.mark.parametrize("text", [PROSE, CHINESE])
async def test_a_copy_is_held_and_names_its_original(desk: Desk, text: str) -> None:
    assert (await desk.asked(delivered(1, text))).action is Action.ALLOW
    flags = await desk.flags(delivered(2, text))
    assert flags["duplicate_output"].severity is Severity.CRITICAL
    assert flags["duplicate_output"].evidence["seen_before"][0]["attempt_id"] == "att_1"


async def test_an_edited_copy_is_held(desk: Desk) -> None:
    await desk.asked(delivered(1, PROSE))
    flags = await desk.flags(delivered(2, edited(PROSE)))
    assert flags["near_duplicate_output"].evidence["alike"][0]["attempt_id"] == "att_1"


async def test_a_copy_of_what_was_held_is_held_too(desk: Desk) -> None:
    for number in (1, 2):
        await desk.asked(delivered(number, PROSE))
    assert (await desk.asked(delivered(3, edited(PROSE)))).action is Action.HOLD


@pytest.mark.parametrize("stolen", [PROSE, edited(PROSE)], ids=["as it is", "edited"])
async def test_an_author_is_not_held_for_what_a_thief_copied(desk: Desk, stolen: str) -> None:
    author = {"agent": {"id": "author"}}
    await desk.asked(delivered(1, PROSE, **author))
    assert not (await desk.asked(delivered(2, stolen, received_at=NOW + timedelta(minutes=1)))).valid
    later = {**author, "received_at": NOW + timedelta(minutes=2)}
    assert (await desk.asked(delivered(3, PROSE, **later))).valid
    assert (await desk.asked(delivered(4, PROSE, **{**later, "contract_id": "ctr_1", "work_id": "work_1"}))).valid
    assert (await desk.asked(delivered(5, edited(PROSE, 20), **later))).valid
    assert not (await desk.asked(delivered(6, edited(PROSE, 20), received_at=NOW + timedelta(minutes=3)))).valid


async def test_a_history_that_a_rebuild_replaces_meanwhile_is_read_anew() -> None:
    store = Rebuilding()
    desk = desk_over(store)
    for number in range(25):
        usual = {"rougeL": 0.4 + number % 5 / 50}
        await desk.asked(delivered(number, agent={"id": "bot"}, extracted_metrics=usual))
    store.left = 2
    assert await desk.flags(delivered(30, agent={"id": "bot"}, extracted_metrics={"rougeL": 0.99})) == {}
    assert (await record_of(desk, "att_30")).generations == (3,)
    store.left = 9
    with pytest.raises(StoreUnavailable):
        await desk.asked(delivered(31))
    assert await VALIDATIONS.get(store, key_of("att_31")) is None


@pytest.mark.parametrize("value", [-0.0, 1e17, 1e300, 0.1])
async def test_the_first_answer_is_the_stored_one_to_the_byte(desk: Desk, value: float) -> None:
    request = delivered(1, extracted_metrics={"accuracy": value, "precision": -1}, claimed_metrics={"accuracy": 0.5})
    first = await desk.asked(request)
    assert first.flags
    assert first.model_dump_json() == (await desk.asked(request)).model_dump_json()


async def test_another_text_and_the_agents_own_revision_are_left_alone(desk: Desk) -> None:
    await desk.asked(delivered(1, PROSE))
    assert await desk.flags(delivered(2, OTHER)) == {}
    revision = {"contract_id": "ctr_1", "work_id": "work_1", "agent": {"id": "bot_1"}}
    assert await desk.flags(delivered(3, edited(PROSE), **revision)) == {}
    assert await desk.flags(delivered(4, PROSE, **revision)) == {}


async def test_selling_a_text_twice_is_noted_and_allowed(desk: Desk) -> None:
    await desk.asked(delivered(1, PROSE))
    again = delivered(2, PROSE, agent={"id": "bot_1"}, consumer={"id": "globex"})
    decision = await desk.asked(again)
    assert [(flag.rule, flag.severity) for flag in decision.flags] == [("duplicate_output", Severity.MINOR)]
    assert decision.valid


@pytest.mark.parametrize("text", NOT_FREE.values(), ids=NOT_FREE)
async def test_equal_correct_answers_are_left_alone_and_leave_no_trace_in_the_indexes(desk: Desk, text: str) -> None:
    for number in range(3):
        assert "output" not in " ".join(await desk.flags(delivered(number, text)))
    record = await record_of(desk, "att_1")
    assert (record.is_free, record.sketch) == (False, None)


async def test_the_log_keeps_no_texts(desk: Desk) -> None:
    await desk.asked(delivered(1, PROSE, other_text="because I say so"))
    stored = await VALIDATIONS.get(desk.deps.store, key_of("att_1"))
    assert stored is not None
    assert (stored.record.request.output_text, stored.record.request.other_text) == (None, None)
    assert b"quarterly" not in stored.document.body
    assert b"because I say" not in stored.document.body


async def test_a_history_makes_an_outlier_of_what_is_far_off(desk: Desk) -> None:
    for number in range(25):
        usual = {"rougeL": 0.4 + number % 5 / 50, "latency_ms": 900.0 + number}
        await desk.asked(delivered(number, agent={"id": "bot"}, extracted_metrics=usual))
    flags = await desk.flags(delivered(30, agent={"id": "bot"}, extracted_metrics={"rougeL": 0.99, "latency_ms": 905}))
    assert list(flags["statistical_outlier"].evidence["metrics"]) == ["rougeL"]
    other = await desk.flags(
        delivered(31, agent={"id": "new"}, extracted_metrics={"rougeL": 0.99, "latency_ms": 90_000})
    )
    assert other["statistical_outlier"].evidence["metrics"]["latency_ms"]["history_of"] == "domain"
    elsewhere = delivered(32, domain="poetry", extracted_metrics={"latency_ms": 90_000})
    assert "statistical_outlier" not in await desk.flags(elsewhere)


async def test_what_was_held_does_not_move_the_history(desk: Desk) -> None:
    for number in range(25):
        await desk.asked(delivered(number, agent={"id": "bot"}, extracted_metrics={"rougeL": 0.4 + number % 5 / 50}))
    for number in range(40, 90):
        held = delivered(number, agent={"id": "bot"}, consumer={"id": "bot"}, extracted_metrics={"rougeL": 0.99})
        assert (await desk.asked(held)).action is Action.HOLD
    found = await desk.flags(delivered(99, agent={"id": "bot"}, extracted_metrics={"rougeL": 0.99}))
    assert found["statistical_outlier"].evidence["metrics"]["rougeL"]["outcomes"] == 25


async def test_too_many_in_the_window_are_held_until_it_has_passed(desk: Desk) -> None:
    config = desk.deps.rules["velocity"]
    few = config.model_copy(update={"thresholds": {"window_s": 600, "max_agent_outcomes": 6, "max_pair_outcomes": 4}})
    hasty = desk_over(desk.deps.store, rules={**desk.deps.rules, "velocity": few})
    for number in range(4):
        assert await hasty.flags(delivered(number, agent={"id": "bot"})) == {}
    assert list(await hasty.flags(delivered(4, agent={"id": "bot"}))) == ["velocity"]
    assert await hasty.flags(delivered(5, agent={"id": "bot"}, consumer={"id": "globex"})) == {}
    flags = await hasty.flags(delivered(6, agent={"id": "bot"}, consumer={"id": "initech"}))
    assert flags["velocity"].evidence["agent_outcomes"] == 7
    assert await hasty.flags(delivered(7, agent={"id": "other"})) == {}
    hasty.clock.advance(timedelta(minutes=11))
    assert await hasty.flags(delivered(8, agent={"id": "bot"})) == {}


async def test_a_window_reaches_over_the_hour(desk: Desk) -> None:
    config = desk.deps.rules["velocity"]
    few = config.model_copy(update={"thresholds": {"window_s": 600, "max_agent_outcomes": 1, "max_pair_outcomes": 1}})
    hasty = desk_over(desk.deps.store, at=NOW - timedelta(minutes=2), rules={**desk.deps.rules, "velocity": few})
    assert await hasty.flags(delivered(1, agent={"id": "bot"})) == {}
    hasty.clock.advance(timedelta(minutes=5))
    assert list(await hasty.flags(delivered(2, agent={"id": "bot"}))) == ["velocity"]


@pytest.mark.parametrize("changes", HUGE.values(), ids=HUGE)
async def test_a_huge_request_is_decided_and_stored(desk: Desk, changes: dict[str, Any]) -> None:
    decision = await desk.asked(delivered(1, **changes))
    assert await desk.asked(delivered(1)) == decision
    assert (await record_of(desk, "att_1")).decision == decision


async def test_an_empty_request_is_decided(desk: Desk) -> None:
    assert (await desk.asked(delivered(1, "", extracted_metrics={}))).valid


@pytest.mark.parametrize("where", ["output_text", "other_text", "execution_metadata"])
async def test_a_long_hostile_text_holds_nobody_else_up(desk: Desk, where: str) -> None:
    text = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(200_000))
    changes: dict[str, Any] = {where: {"note": [text]} if where == "execution_metadata" else text}
    long = delivered(1, **changes)
    began = time.perf_counter()
    asked_for = asyncio.create_task(desk.asked(long))
    turns, worst = 0, 0.0
    while not asked_for.done():
        turn = time.perf_counter()
        await asyncio.sleep(0.001)
        turns, worst = turns + 1, max(worst, time.perf_counter() - turn)
    assert turns > 3
    assert worst < (time.perf_counter() - began) / 2


async def test_while_a_generation_is_made_both_are_written_and_the_record_says_so(desk: Desk) -> None:
    await put_head(desk, ProjectionHead(reading=1, building=2))
    await desk.asked(delivered(1, PROSE))
    assert (await record_of(desk, "att_1")).generations == (1, 2)
    for table in TABLES.values():
        kept = [
            [each.record async for page in documents_under(desk.deps.store, table, prefix) for each in page]
            for prefix in ("1-", "2-")
        ]
        assert kept[0] == kept[1] != []


async def test_what_is_read_is_the_generation_that_the_head_names(desk: Desk) -> None:
    await desk.asked(delivered(1, PROSE))
    await put_head(desk, ProjectionHead(reading=2))
    assert await desk.flags(delivered(2, PROSE)) == {}
    await put_head(desk, ProjectionHead(reading=1))
    assert "duplicate_output" in await desk.flags(delivered(3, PROSE))


async def test_an_outcome_is_logged_and_counted_once(desk: Desk) -> None:
    record = an_ended("ctr_1", ContractStatus.EXPIRED)
    for _ in range(3):
        await log_outcome(desk.deps, OutcomeVerified(outcome=record))
    stored = await OUTCOMES.get(desk.deps.store, key_of("ctr_1"))
    assert stored is not None
    assert (stored.record.generations, stored.document.version) == ((1,), 1)
    (page,) = [page async for page in documents_under(desk.deps.store, PROFILES, "1-")]
    assert [each.record.tally.final_statuses for each in page] == [{"expired": 1}]


class Rebuilding(MemoryStore):
    """So many times a rebuild ends just before a transaction begins."""

    left = 0

    async def transact(self, fn: Callable[[BufferedTransaction], Awaitable[T]]) -> T:
        if self.left:
            self.left -= 1
            head = await read_head(self)

            async def replace(transaction: Transaction) -> None:
                transaction.put(HEAD.collection, HEAD_KEY, *HEAD.encode(ProjectionHead(reading=head.reading + 1)))

            await super().transact(replace)
        return await super().transact(fn)


async def put_head(desk: Desk, head: ProjectionHead) -> None:
    async def put(transaction: Transaction) -> None:
        transaction.put(HEAD.collection, HEAD_KEY, *HEAD.encode(head))

    await desk.deps.store.transact(put)
