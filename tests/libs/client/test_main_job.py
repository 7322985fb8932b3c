"""The SDK against the real suite: its README, and every method that the main job needs."""

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pytest

from aex_client import AexClient, AsyncAexClient, Conflict, Endpoints, InvalidRequest, NotFound, calls
from aex_models.audiences import Audience
from aex_models.contract import ContractStatus
from aex_models.results import Verdict
from tests.docs.tried import CLIENT, python_of
from tests.e2e.live import Live
from tests.e2e.parties import caller, fresh
from tests.e2e.shared_suite import shared_suite
from tests.shared import Shared

pytestmark = pytest.mark.e2e

CRITERION = {"metric": "word_count", "metric_type": "count", "comparison": "lte", "threshold": 3, "bonus": "0.05"}
SUBMISSION = {
    "title": "Be brief",
    "success_criteria": {"criteria": [CRITERION]},
    "budget": {"max_cpc": Decimal("0.10")},
}


@pytest.fixture(scope="module")
def suite(shared: Shared) -> Iterator[Live]:
    with shared_suite(shared) as live:
        yield live
        assert live.breakdowns() == []


def token(suite: Live, role: str, name: str) -> str:
    return caller(suite, Audience(role), name).token


def test_readme_prints_the_documented_lines(suite: Live, tmp_path: Path) -> None:
    first = "import aex_client, sys; print('aex_outcomes' in sys.modules)"  # only the loop needs it
    script = "\n".join((first, *(block.text for block in python_of(CLIENT)))).replace(
        "Endpoints.local()", f"Endpoints.local({suite.running.port})"
    )
    (tmp_path / ".aex").symlink_to(suite.data_dir)
    path = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "NO_PROXY": "*"}
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=path, capture_output=True, text=True, check=False, timeout=100
    )
    assert run.returncode == 0, run.stderr
    is_loop_loaded, *lines, absurd, honest, received = run.stdout.splitlines()
    assert is_loop_loaded == "False"
    assert (absurd, honest) == ("11.17 rejected", "-0.30 passed")
    assert received == "27 bytes, once the consumer may read the output"
    batch = ["A dog barked. rejected", "The cat sat on the mat and purred. passed"]
    assert lines[:4] == ["rejected", *batch, "costs 0 to 0.15 USD"]
    assert lines[4].startswith("rejected <verification_rejected")
    assert lines[-9:-7] == ["passed ", "base 0.10 + bonus 0.05 = 0.15"]
    assert lines[-7].endswith(" 0.15")
    assert re.fullmatch(r"\S+ \S+ settlement ctr_\w+ 0\.15", lines[-6])
    assert re.fullmatch(r"out_\w+ \S+", lines[-5])
    assert lines[-4] == "[0.0, 1.0]"
    assert lines[-3:] == [
        "Passed(result={'text': 'The cat sat on the mat and purred all day.'})",
        "1 verification_rejected 1 of 1 criteria not met.",
        "2 verification_passed ",
    ]


async def test_main_job_runs_with_the_async_client(suite: Live) -> None:
    acme, bot = fresh("acme"), fresh("bot")
    endpoints = Endpoints.local(suite.running.port)
    async with (
        AsyncAexClient(endpoints, lambda: token(suite, "consumer", acme)) as consumer,
        AsyncAexClient(endpoints, token(suite, "agent", bot)) as agent,
        AsyncAexClient(endpoints, token(suite, "finance", "fin")) as finance,
    ):
        assert (await consumer.validate_work(SUBMISSION)).valid
        works = await asyncio.gather(*(consumer.publish_work(SUBMISSION) for _ in range(3)))
        assert [work.work_id async for work in consumer.each(calls.list_work(limit=2))] == sorted(
            (work.work_id for work in works), reverse=True
        )
        assert (await agent.get_work(works[0].work_id)).evaluation is None
        award = await consumer.award(works[0].work_id, bot, "0.07")
        contract_id = award.contract_id
        assert (await agent.get_contract(contract_id)).status is ContractStatus.AWARDED
        first = await agent.submit_output(contract_id, {"text": "one two three four"}, wait_s=20)
        assert (first.verdict, first.counted, first.settled) == (Verdict.REJECTED, True, True)
        last = await agent.submit_output(contract_id, {"text": "one two"}, wait_s=20)
        assert last.result is not None
        assert last.result.success
        attempts = [each.attempt_id async for each in agent.each(calls.list_attempts(contract_id, limit=1))]
        assert attempts == [first.attempt_id, last.attempt_id]
        assert (await agent.get_attempt(contract_id, last.attempt_id)).verdict is Verdict.PASSED
        assert (await consumer.get_outcome(contract_id)).billing_impact.total == Decimal("0.12")
        assert (await consumer.list_outcomes()).items[0].contract_id == contract_id
        assert (await _settled(finance, contract_id)) == Decimal("0.12")
        await _sealed(agent)
        balance = await agent.get_account(f"agent:{bot}")
        assert [(each.currency, each.balance) for each in balance.balances] == [("USD", Decimal("-0.12"))]
        entries = await agent.list_account_entries(f"agent:{bot}")
        assert [entry.amount for entry in entries.items] == [-120_000]
        rows = (await consumer.breakdown(["consumer", "agent"])).rows
        assert [(row.consumer, row.agent, row.total) for row in rows] == [(acme, bot, Decimal("0.12"))]
        assert sum(each.balance for each in (await finance.trial_balance()).accounts) == 0
        less = {"base": "0.05", "bonus": "0", "penalty": "0"}
        corrected = await finance.reverse_settlement(contract_id, "wrong rate", replacement=less, revision=1)
        assert (corrected.status, corrected.revision, corrected.cost.total) == ("settled", 2, Decimal("0.05"))
        posted = [row async for row in agent.rows(calls.export_settlements(agent_id=bot))]
        assert sorted((row.revision, row.kind, row.total) for row in posted) == [
            (1, "reversal", Decimal("-0.12")),
            (1, "settlement", Decimal("0.12")),
            (2, "settlement", Decimal("0.05")),
        ]


async def _settled(finance: AsyncAexClient, contract_id: str) -> Decimal:
    async with asyncio.timeout(90):
        while True:
            with suppress(NotFound):
                return (await finance.get_settlement(contract_id)).cost.total
            await asyncio.sleep(0.05)


async def _sealed(agent: AsyncAexClient) -> None:
    """Wait for the sealer, which seals within a second."""
    async with asyncio.timeout(90):
        while not (await agent.breakdown("day")).rows:  # noqa: ASYNC110 a seal has no event
            await asyncio.sleep(0.05)


def test_other_calls_work_with_the_sync_client(suite: Live) -> None:
    acme, bot = fresh("acme"), fresh("bot")
    endpoints = Endpoints.local(suite.running.port)
    with (
        AexClient(endpoints, token(suite, "consumer", acme)) as consumer,
        AexClient(endpoints, token(suite, "agent", bot)) as agent,
        AexClient(endpoints, token(suite, "operator", "olga")) as operator,
        AexClient(endpoints, token(suite, "finance", "fin")) as finance,
    ):
        assert "rougeL" in {entry.name for entry in agent.metrics_catalog()}
        assert {rule.name for rule in agent.list_rules()} >= {"metric_out_of_bounds"}
        assert operator.list_holds(status="waiting").next_cursor is None
        assert agent.get_profile(bot).success_rate is None
        for call in (
            lambda: agent.get_profile("another-agent"),
            lambda: operator.get_hold("hold_none"),
            lambda: operator.decide_hold("hold_none", "release", "as a test"),
        ):
            with pytest.raises(NotFound):
                call()
        with pytest.raises(InvalidRequest) as caught:
            consumer.publish_work({**SUBMISSION, "success_criteria": {"criteria": [{**CRITERION, "metric": "mood"}]}})
        assert "Unknown metric: mood" in str(caught.value)
        assert caught.value.request_id
        withdrawn = consumer.publish_work(SUBMISSION)
        assert consumer.cancel_work(withdrawn.work_id).status == "cancelled"
        claimable = consumer.publish_work(
            {**SUBMISSION, "allow_claims": True, "budget": {"max_cpc": "0.10", "base_policy": "on_success"}}
        )
        claim = calls.claim(claimable.work_id).with_key(fresh("key"))
        assert agent.send(claim) == agent.send(claim)
        contract_id = agent.send(claim).contract_id
        with pytest.raises(Conflict):
            agent.finalize(contract_id)
        assert consumer.cancel_contract(contract_id).status is ContractStatus.CANCELLED
        assert [each.contract_id for each in agent.list_contracts(status="cancelled").items] == [contract_id]
        amounts = {"platform:cash": 5_000_000, f"consumer:{acme}": -5_000_000}
        postings = [{"account": name, "amount": amount, "currency": "USD"} for name, amount in amounts.items()]
        assert finance.post_transaction("deposit", postings, "paid in").reason == "paid in"
        deadline = time.monotonic() + 90
        while not (account := consumer.get_account(f"consumer:{acme}")).balances and time.monotonic() < deadline:
            time.sleep(0.05)  # it is sealed within a second
        assert account.balances[0].balance == Decimal(-5)
        with pytest.raises(NotFound):
            finance.reverse_settlement(contract_id, "it was cancelled")
        assert list(finance.each(calls.list_settlements(agent_id=bot))) == []
