"""Lists of contracts, attempts and outcomes, with filters, also over records of older versions."""

from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import combinations, product
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from aex_models.contract import AttemptStatus, Candidate, ContractStatus
from aex_models.outcome import OutcomeRecord
from aex_outcomes.lifecycle.state import ContractState, VerificationState
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store, Transaction, key_of
from aex_runtime.store.spill import SpillingStore
from aex_runtime.store.sqlite import SQLiteStore
from aex_runtime.store.table import Table
from aex_verification.repository import ATTEMPTS, CANDIDATES, CONTRACTS, OUTCOMES
from aex_verification.rules.records import AttemptRow, ContractRow, GovernanceFacts
from tests.parts.verification import START, VerificationBench
from tests.services.settlement.outcomes import an_outcome
from tests.services.verification.listening import application

ADDED_FIELDS = {"work_id", "domain", "is_paid"}
"""Index fields that records of older versions lack."""
LARGE = 2_700_000
CALLERS = ("operator:olga", "finance:fin", "agent:bot", "consumer:acme")
SENT = {"agent_id": "bot", "consumer_id": "acme", "work_id": "work_3", "domain": "news"}


@asynccontextmanager
async def opened(bench: VerificationBench) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(application(bench))
    async with httpx.AsyncClient(transport=transport, base_url="http://verification") as client:
        yield client


async def put(store: Store, table: Table[Any], key: str, record: BaseModel, *, is_old: bool = False) -> None:
    body, fields = table.encode(record)
    kept = {name: value for name, value in fields.items() if not (is_old and name in ADDED_FIELDS)}

    async def write(transaction: Transaction) -> None:
        transaction.put(table.collection, key_of(key), body, kept)

    await store.transact(write)


async def pages_of(client: httpx.AsyncClient, caller: str, path: str, **query: Any) -> list[list[Any]]:
    found: list[list[Any]] = []
    cursor: Mapping[str, str] = {}
    while True:
        answer = await client.get(path, params={**query, **cursor}, headers={"Authorization": f"Bearer {caller}"})
        assert answer.status_code == 200, answer.text
        found.append(answer.json()["items"])
        if answer.json()["next_cursor"] is None:
            return found
        cursor = {"cursor": answer.json()["next_cursor"]}


async def items(client: httpx.AsyncClient, caller: str, path: str, **query: Any) -> list[Any]:
    return [each for page in await pages_of(client, caller, path, **query) for each in page]


def is_own(record: OutcomeRecord | ContractRow, caller: str) -> bool:
    role, _, name = caller.partition(":")
    return role in {"operator", "finance"} or getattr(record, f"{role}_id") == name


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "records")
    yield made
    await made.close()


@pytest.mark.parametrize("is_old", [False, True], ids=["new", "old"])
async def test_outcomes_are_found_by_each_filter_and_each_pair(store: Store, is_old: bool) -> None:
    bench = VerificationBench(store)
    parties = product(("bot", "crew"), ("acme", "globex"), ("news", "general"))
    outcomes = [
        an_outcome(
            f"ctr_{number}",
            agent_id=agent,
            consumer_id=consumer,
            domain=domain,
            work_id=f"work_{number}",
            created_at=START + timedelta(seconds=number),
        )
        for number, (agent, consumer, domain) in enumerate(parties)
    ]
    for number, each in enumerate(outcomes):
        await put(store, OUTCOMES, each.contract_id, each, is_old=is_old and number < 5)
    newest_first = outcomes[::-1]
    async with opened(bench) as client:
        for caller, size in product(CALLERS, range(3)):
            for names in combinations(SENT, size):
                query = {name: SENT[name] for name in names}
                found = await items(client, caller, "/v1/outcomes", limit=2, **query)
                expected = [
                    each.contract_id
                    for each in newest_first
                    if is_own(each, caller) and all(getattr(each, name) == value for name, value in query.items())
                ]
                assert [each["contract_id"] for each in found] == expected, (caller, query)


@pytest.mark.parametrize("is_old", [False, True], ids=["new", "old"])
async def test_contracts_are_found_by_work_and_status(store: Store, is_old: bool) -> None:
    bench = VerificationBench(store)
    rows = [
        ContractRow(
            contract_id=f"ctr_{number}",
            work_id=f"work_{number}",
            consumer_id=consumer,
            agent_id=agent,
            awarded_at=START + timedelta(seconds=number),
            state=a_state(f"ctr_{number}", status),
        )
        for number, (agent, consumer, status) in enumerate(
            product(("bot", "crew"), ("acme", "globex"), (ContractStatus.FAILED, ContractStatus.EXPIRED))
        )
    ]
    for each in rows:
        await put(store, CONTRACTS, each.contract_id, each, is_old=is_old)
    async with opened(bench) as client:
        for caller, work_id, status in product(
            CALLERS[:1] + CALLERS[2:], (None, "work_2"), (None, "failed", "expired")
        ):
            query = {name: value for name, value in {"work_id": work_id, "status": status}.items() if value}
            found = await items(client, caller, "/v1/contracts", limit=3, **query)
            expected = [
                each.contract_id
                for each in rows[::-1]
                if is_own(each, caller) and work_id in {None, each.work_id} and status in {None, each.state.status}
            ]
            assert [each["contract_id"] for each in found] == expected, (caller, query)


def a_state(contract_id: str, status: ContractStatus, **changes: Any) -> ContractState:
    return ContractState(
        contract_id=contract_id,
        status=status,
        verification=VerificationState(),
        deadline=START,
        waiting_since=None,
        updated_at=START,
        **changes,
    )


@pytest.mark.parametrize(
    ("path", "code", "at"),
    [
        ("/v1/outcomes?agent_id=bot&domain=news&work_id=work_1", "too_many_filters", "query/domain"),
        ("/v1/outcomes?agent_id=", "invalid_shape", "query/agent_id"),
        ("/v1/outcomes?consumer_id=a%20b", "invalid_shape", "query/consumer_id"),
        ("/v1/outcomes?work_id=%00", "invalid_shape", "query/work_id"),
        (f"/v1/outcomes?domain={'d' * 101}", "invalid_shape", "query/domain"),
        ("/v1/outcomes?domain=d%C3%B6", "invalid_shape", "query/domain"),
        ("/v1/contracts?status=gone", "invalid_shape", "query/status"),
        (f"/v1/contracts?work_id={'w' * 129}", "invalid_shape", "query/work_id"),
        ("/v1/contracts?work=work_1", "unknown_parameter", "query/work"),
        ("/v1/contracts?Work_id=work_1", "unknown_parameter", "query/Work_id"),
    ],
)
async def test_invalid_filter_is_refused_with_its_path(path: str, code: str, at: str) -> None:
    async with opened(VerificationBench()) as client:
        answer = await client.get(path, headers={"Authorization": "Bearer operator:olga"})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, code)
    assert [each["path"] for each in problem["errors"]] == [at]


@pytest.mark.parametrize("is_old", [False, True], ids=["new", "old"])
async def test_outcome_is_not_loaded_to_know_whether_it_is_paid(is_old: bool) -> None:
    bench = VerificationBench(SpillingStore(MemoryStore(), open_blobs("memory:")))
    for number in range(3):
        contract_id = f"ctr_{number}"
        state = a_state(contract_id, ContractStatus.PASSED, last_feedback="not met")
        row = ContractRow(
            contract_id=contract_id,
            work_id="work_1",
            consumer_id="acme",
            agent_id="bot",
            awarded_at=START,
            state=state,
        )
        await put(bench.store, CONTRACTS, contract_id, row)
        outcome = an_outcome(contract_id, final_result="x" * LARGE)
        await put(bench.store, OUTCOMES, contract_id, outcome, is_old=is_old)
    async with opened(bench) as client:
        answer = await client.get("/v1/contracts", headers={"Authorization": "Bearer consumer:acme"})
        page = answer.json()["items"]
        assert [each["last_feedback"] for each in page] == ["not met"] * (1 if is_old else 3)
        assert len(await items(client, "consumer:acme", "/v1/contracts")) == 3


@pytest.mark.parametrize(
    ("caller", "sizes"), [("agent:bot", [1] * 3), ("operator:olga", [1] * 3), ("consumer:acme", [3])]
)
async def test_page_of_attempts_ends_by_the_bytes_of_the_candidates_that_its_reader_sees(
    caller: str, sizes: list[int]
) -> None:
    bench = VerificationBench(SpillingStore(MemoryStore(), open_blobs("memory:")))
    await bench.award()
    for number in range(3):
        row = AttemptRow(
            attempt_id=f"att_{number}",
            contract_id="ctr_1",
            candidate_key=key_of(f"att_{number}"),
            candidate_hash="0" * 64,
            output_hash="0" * 64,
            status=AttemptStatus.JUDGED,
            platform_latency_ms=1.0,
            received_at=START + timedelta(seconds=number),
        )
        await put(bench.store, ATTEMPTS, row.attempt_id, row)
        await put(bench.store, CANDIDATES, row.attempt_id, Candidate(output={"text": f"{number}" * LARGE}))
    async with opened(bench) as client:
        pages = await pages_of(client, caller, "/v1/contracts/ctr_1/attempts")
    assert [len(page) for page in pages] == sizes
    assert [each["attempt_id"] for page in pages for each in page] == ["att_0", "att_1", "att_2"]
    texts = [each["candidate"]["output"]["text"] for page in pages for each in page if each.get("candidate")]
    assert texts == ([] if len(sizes) == 1 else [f"{number}" * LARGE for number in range(3)])


async def test_page_of_attempts_has_large_artifacts_in_base64() -> None:
    bench = VerificationBench(SpillingStore(MemoryStore(), open_blobs("memory:")))
    await bench.award()
    row = AttemptRow(
        attempt_id="att_0",
        contract_id="ctr_1",
        candidate_key=key_of("att_0"),
        candidate_hash="0" * 64,
        output_hash="0" * 64,
        status=AttemptStatus.JUDGED,
        platform_latency_ms=1.0,
        received_at=START,
    )
    await put(bench.store, ATTEMPTS, row.attempt_id, row)
    file = {"name": "rows.csv", "media_type": "text/csv", "content_base64": b64encode(b"a,b\n" * 10_000).decode()}
    await put(bench.store, CANDIDATES, row.attempt_id, Candidate.model_validate({"output": "x", "artifacts": [file]}))
    async with opened(bench) as client:
        [attempt] = await items(client, "agent:bot", "/v1/contracts/ctr_1/attempts")
    [artifact] = attempt["candidate"]["artifacts"]
    assert {name: artifact[name] for name in file} == file


@pytest.mark.parametrize("is_old", [False, True], ids=["new", "old"])
async def test_pages_of_unpaid_records_do_not_reveal_the_size_of_what_they_hide(is_old: bool) -> None:
    found = []
    for size in (1, 400_000, LARGE):
        bench = VerificationBench(SpillingStore(MemoryStore(), open_blobs("memory:")))
        await bench.award()
        for number in range(5):
            await _put_unpaid(bench.store, number, "x" * size, is_old=is_old)
        async with opened(bench) as client:
            lists: list[tuple[str, dict[str, str]]] = [
                ("/v1/contracts", {}),
                ("/v1/contracts", {"status": "exhausted"}),
                ("/v1/contracts/ctr_1/attempts", {}),
                ("/v1/outcomes", {}),
            ]
            found.append([await pages_of(client, "consumer:acme", path, **query) for path, query in lists])
    assert found[0] == found[1] == found[2]
    assert [[len(page) for page in pages] for pages in found[0]] == [[6], [5], [5], [5]]


async def _put_unpaid(store: Store, number: int, text: str, *, is_old: bool) -> None:
    """Store a contract that cost nothing, its outcome, and an attempt of the contract `ctr_1`."""
    contract_id, at = f"ctr_0{number}", START + timedelta(seconds=number)
    contract = ContractRow(
        contract_id=contract_id,
        work_id="work_1",
        consumer_id="acme",
        agent_id="bot",
        awarded_at=at,
        state=a_state(contract_id, ContractStatus.EXHAUSTED, last_feedback=text[:400_000]),
    )
    await put(store, CONTRACTS, contract_id, contract)
    hidden: dict[str, Any] = {"verification_result": None, "execution_metadata": {"note": text}}
    outcome = an_outcome(contract_id, final_status=ContractStatus.EXHAUSTED, created_at=at, **hidden)
    await put(store, OUTCOMES, contract_id, outcome, is_old=is_old)
    attempt = AttemptRow(
        attempt_id=f"att_{number}",
        contract_id="ctr_1",
        candidate_key=key_of(f"att_{number}"),
        candidate_hash="0" * 64,
        output_hash="0" * 64,
        status=AttemptStatus.JUDGED,
        facts=GovernanceFacts(output_text=text),
        platform_latency_ms=1.0,
        received_at=at,
    )
    await put(store, ATTEMPTS, attempt.attempt_id, attempt)
