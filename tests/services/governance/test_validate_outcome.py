"""Validation of attempts: decisions, the log and the projections."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Event
from typing import Any, TypeVar

import pytest

from aex_governance.handlers.history import append_outcome_to_log_and_projections
from aex_governance.repository import (
    GENERATIONS,
    GENERATIONS_KEY,
    OUTCOMES,
    PROFILES,
    VALIDATIONS,
    ProjectionGenerations,
    iterate_pages_by_key_prefix,
    read_projection_generations,
)
from aex_governance.rules.config import load_rule_configs
from aex_governance.rules.projection_documents import ValidationRecord
from aex_models.contract import ContractStatus
from aex_models.events import OutcomeVerified
from aex_models.governance import Action, Severity, ValidationRequest
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import StoreUnavailable, Transaction, key_of
from aex_runtime.store.transactions import BufferedTransaction
from tests.services.governance.process import Process, open_process
from tests.services.governance.requests import NOW, numbered_request, outcome_record
from tests.services.governance.rules.test_evidence import HUGE
from tests.services.governance.text.test_free_text import NOT_FREE
from tests.services.governance.texts import CHINESE, OTHER, PROSE, edited

T = TypeVar("T")


async def validate_usual(process: Process) -> None:
    """Validate 25 outcomes of the agent `bot` with usual metrics."""
    for number in range(25):
        usual = {"rougeL": 0.4 + number % 5 / 50, "latency_ms": 900.0 + number}
        await process.validate(numbered_request(number, agent={"id": "bot"}, extracted_metrics=usual))


async def record_of(process: Process, attempt_id: str) -> ValidationRecord:
    stored = await VALIDATIONS.get(process.deps.store, key_of(attempt_id))
    assert stored is not None
    return stored.record


@pytest.mark.parametrize("text", [PROSE, CHINESE])
async def test_copy_is_held_with_its_original(process: Process, text: str) -> None:
    assert (await process.validate(numbered_request(1, text))).action is Action.ALLOW
    flags = await process.flags(numbered_request(2, text))
    assert flags["duplicate_output"].severity is Severity.CRITICAL
    assert flags["duplicate_output"].evidence["seen_before"][0]["attempt_id"] == "att_1"
    near = await process.flags(numbered_request(3, edited(text) if " " in text else text.replace("企业", "公司")))
    assert near["near_duplicate_output"].evidence["alike"][0]["attempt_id"] == "att_1"


@pytest.mark.parametrize("copied", [PROSE, edited(PROSE)], ids=["equal", "edited"])
async def test_author_of_a_copied_text_is_not_held(process: Process, copied: str) -> None:
    author = {"agent": {"id": "author"}}
    await process.validate(numbered_request(1, PROSE, **author))
    assert not (await process.validate(numbered_request(2, copied, received_at=NOW + timedelta(minutes=1)))).valid
    later = {**author, "received_at": NOW + timedelta(minutes=2)}
    assert (await process.validate(numbered_request(3, PROSE, **later))).valid
    own = numbered_request(4, PROSE, **{**later, "contract_id": "ctr_1", "work_id": "work_1"})
    assert (await process.validate(own)).valid
    assert (await process.validate(numbered_request(5, edited(PROSE, 20), **later))).valid
    strange = numbered_request(6, edited(PROSE, 20), received_at=NOW + timedelta(minutes=3))
    assert not (await process.validate(strange)).valid


async def test_replaced_generation_is_reread() -> None:
    store = Rebuilding()
    process = open_process(store)
    await validate_usual(process)
    store.left = 2
    assert await process.flags(numbered_request(30, agent={"id": "bot"}, extracted_metrics={"rougeL": 0.99})) == {}
    assert (await record_of(process, "att_30")).generations == (3,)
    store.left = 9
    with pytest.raises(StoreUnavailable):
        await process.validate(numbered_request(31))
    assert await VALIDATIONS.get(store, key_of("att_31")) is None


@pytest.mark.parametrize("value", [-0.0, 1e17, 1e300, 0.1])
async def test_first_decision_equals_the_stored_one(process: Process, value: float) -> None:
    metrics = {"accuracy": value, "precision": -1}
    request = numbered_request(1, extracted_metrics=metrics, claimed_metrics={"accuracy": 0.5})
    first = await process.validate(request)
    assert first.flags
    assert first.model_dump_json() == (await process.validate(request)).model_dump_json()


async def test_other_text_and_own_revision_are_honest(process: Process) -> None:
    await process.validate(numbered_request(1, PROSE))
    assert await process.flags(numbered_request(2, OTHER)) == {}
    revision = {"contract_id": "ctr_1", "work_id": "work_1", "agent": {"id": "bot_1"}}
    assert await process.flags(numbered_request(3, edited(PROSE), **revision)) == {}
    assert await process.flags(numbered_request(4, PROSE, **revision)) == {}


@pytest.mark.parametrize("text", [NOT_FREE["labels in sentences"], NOT_FREE["SQL"], ""])
async def test_equal_correct_answers_are_not_indexed(process: Process, text: str) -> None:
    for number in range(3):
        assert "output" not in " ".join(await process.flags(numbered_request(number, text)))
    record = await record_of(process, "att_1")
    assert (record.is_free, record.sketch) == (False, None)


async def test_log_keeps_no_texts(process: Process) -> None:
    await process.validate(numbered_request(1, PROSE, other_text="because I say so"))
    stored = await VALIDATIONS.get(process.deps.store, key_of("att_1"))
    assert stored is not None
    assert (stored.record.request.output_text, stored.record.request.other_text) == (None, None)
    assert b"quarterly" not in stored.document.body
    assert b"because I say" not in stored.document.body


async def test_distant_metric_is_an_outlier(process: Process) -> None:
    await validate_usual(process)
    flags = await process.flags(
        numbered_request(30, agent={"id": "bot"}, extracted_metrics={"rougeL": 0.99, "latency_ms": 905})
    )
    assert list(flags["statistical_outlier"].evidence["metrics"]) == ["rougeL"]
    other = await process.flags(
        numbered_request(31, agent={"id": "new"}, extracted_metrics={"rougeL": 0.99, "latency_ms": 90_000})
    )
    assert other["statistical_outlier"].evidence["metrics"]["latency_ms"]["history_of"] == "domain"
    elsewhere = numbered_request(32, domain="poetry", extracted_metrics={"latency_ms": 90_000})
    assert "statistical_outlier" not in await process.flags(elsewhere)


async def test_held_attempts_do_not_change_the_history(process: Process) -> None:
    await validate_usual(process)
    for number in range(40, 90):
        held = numbered_request(number, agent={"id": "bot"}, consumer={"id": "bot"}, extracted_metrics={"rougeL": 0.99})
        assert (await process.validate(held)).action is Action.HOLD
    found = await process.flags(numbered_request(99, agent={"id": "bot"}, extracted_metrics={"rougeL": 0.99}))
    assert found["statistical_outlier"].evidence["metrics"]["rougeL"]["outcomes"] == 25


def open_hasty(at: datetime, agent: int, pair: int) -> Process:
    """Return a process that allows few outcomes within ten minutes."""
    rules = load_rule_configs()
    limits = {"window_s": 600, "max_agent_outcomes": agent, "max_pair_outcomes": pair}
    return open_process(at=at, rules={**rules, "velocity": rules["velocity"].model_copy(update={"thresholds": limits})})


async def test_outcomes_above_the_limit_are_held_within_the_window() -> None:
    hasty = open_hasty(NOW, 6, 4)
    for number in range(4):
        assert await hasty.flags(numbered_request(number, agent={"id": "bot"})) == {}
    assert list(await hasty.flags(numbered_request(4, agent={"id": "bot"}))) == ["velocity"]
    assert await hasty.flags(numbered_request(5, agent={"id": "bot"}, consumer={"id": "globex"})) == {}
    flags = await hasty.flags(numbered_request(6, agent={"id": "bot"}, consumer={"id": "initech"}))
    assert flags["velocity"].evidence["agent_outcomes"] == 7
    assert await hasty.flags(numbered_request(7, agent={"id": "other"})) == {}
    hasty.clock.advance(timedelta(minutes=11))
    assert await hasty.flags(numbered_request(8, agent={"id": "bot"})) == {}


async def test_window_spans_two_hours() -> None:
    hasty = open_hasty(NOW - timedelta(minutes=2), 1, 1)
    assert await hasty.flags(numbered_request(1, agent={"id": "bot"})) == {}
    hasty.clock.advance(timedelta(minutes=5))
    assert list(await hasty.flags(numbered_request(2, agent={"id": "bot"}))) == ["velocity"]


@pytest.mark.parametrize("name", ["metrics", "long names", "claims", "mismatches", "violations"])
async def test_huge_request_is_decided_and_stored(process: Process, name: str) -> None:
    decision = await process.validate(numbered_request(1, **HUGE[name]))
    assert await process.validate(numbered_request(1)) == decision
    assert (await record_of(process, "att_1")).decision == decision


async def is_done_without_threads(process: Process, request: ValidationRequest) -> bool:
    """Return whether a validation ends while all threads are busy; let it end then."""
    threads, released = ThreadPoolExecutor(1), Event()
    threads.submit(released.wait)
    asyncio.get_running_loop().set_default_executor(threads)
    validation = asyncio.create_task(process.validate(request))
    for _ in range(200):
        await asyncio.sleep(0)
    is_done = validation.done()
    released.set()
    await validation
    return is_done


@pytest.mark.parametrize("where", ["output_text", "other_text", "execution_metadata"])
async def test_long_text_is_read_in_a_thread(process: Process, where: str) -> None:
    text = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(50_000))
    fields: dict[str, Any] = {where: {"note": [text]} if where == "execution_metadata" else text}
    assert not await is_done_without_threads(process, numbered_request(1, **fields))
    assert await is_done_without_threads(process, numbered_request(2, PROSE))


async def test_outcome_is_logged_and_counted_once(process: Process) -> None:
    record = outcome_record("ctr_1", ContractStatus.EXPIRED)
    for _ in range(3):
        await append_outcome_to_log_and_projections(process.deps, OutcomeVerified(outcome=record))
    stored = await OUTCOMES.get(process.deps.store, key_of("ctr_1"))
    assert stored is not None
    assert (stored.record.generations, stored.document.version) == ((1,), 1)
    (page,) = [page async for page in iterate_pages_by_key_prefix(process.deps.store, PROFILES, "1-")]
    assert [each.record.tally.final_statuses for each in page] == [{"expired": 1}]


class Rebuilding(MemoryStore):
    """Store on which a rebuild ends just before each of the next `left` transactions."""

    left = 0

    async def transact(self, fn: Callable[[BufferedTransaction], Awaitable[T]]) -> T:
        if self.left:
            self.left -= 1
            generations = await read_projection_generations(self)

            async def replace(transaction: Transaction) -> None:
                transaction.put(
                    GENERATIONS.collection,
                    GENERATIONS_KEY,
                    *GENERATIONS.encode(ProjectionGenerations(reading=generations.reading + 1)),
                )

            await super().transact(replace)
        return await super().transact(fn)
