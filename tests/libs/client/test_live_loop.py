"""The revision loop on live contracts of the real suite."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from aex_client import AexClient, AsyncAexClient, Endpoints, RevisionLoop, VerdictPending
from aex_models.audiences import Audience
from aex_models.backoff import Backoff
from aex_models.contract import Candidate, ContractStatus
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.endings import Exhausted, Failed, Passed, Reason
from aex_outcomes.lifecycle.rejection import FatalAgentError
from tests.e2e.live import Live, live_suite
from tests.e2e.parties import caller, fresh
from tests.e2e.verifiers.contracts import GATES

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
CRITERION = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3, "bonus": "0.05"}
QUERY = "say something"
LOOK = timedelta(milliseconds=100)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("loop")
    (folder / "verifiers.yaml").write_text(f"verifiers:\n  tone: {GATES}:tone\n", encoding="utf-8")
    with live_suite(folder / ".aex", config=folder / "verifiers.yaml") as live:
        yield live
        assert live.breakdowns() == []


@dataclass
class Table:
    """A consumer and an agent at one contract."""

    consumer: AsyncAexClient
    agent: AsyncAexClient
    operator: AsyncAexClient
    contract_id: str

    def loop(self, *outputs: Any, **settings: Any) -> tuple[RevisionLoop, "Scripted"]:
        """A loop over a producer that gives these outputs, one each turn."""
        produce = Scripted(list(outputs))
        return RevisionLoop(produce, self.agent, self.contract_id, **settings), produce

    async def hold(self, seen: set[str]) -> str:
        """The hold of the contract that was not seen before, once it is there."""
        async with asyncio.timeout(30):
            while True:
                found = (await self.operator.list_holds(status="waiting", limit=200)).items
                for each in found:
                    if each.contract_id == self.contract_id and each.hold_id not in seen:
                        seen.add(each.hold_id)
                        return each.hold_id
                await asyncio.sleep(0.1)

    async def contract(self) -> tuple[ContractStatus, int]:
        found = await self.agent.get_contract(self.contract_id)
        return found.status, found.attempts_used


@dataclass
class Scripted:
    """A producer that says what it was told to, and notes what it was told."""

    outputs: list[Any]
    seen: list[AgentContext] = field(default_factory=list)

    async def __call__(self, ctx: AgentContext) -> Any:
        self.seen.append(ctx.model_copy(deep=True))
        return self.outputs.pop(0)

    @property
    def told(self) -> list[str]:
        """The last message of each turn."""
        return [str(ctx.messages[-1]["content"]) for ctx in self.seen]


@asynccontextmanager
async def table(suite: Live, org: str | None = None, **changes: Any) -> AsyncIterator[Table]:
    names = {role: fresh(role) for role in ("consumer", "agent", "operator")}
    endpoints = Endpoints.local(suite.running.port)
    clients = {
        role: AsyncAexClient(endpoints, caller(suite, Audience(role), name, org).token) for role, name in names.items()
    }
    async with clients["consumer"] as consumer, clients["agent"] as agent, clients["operator"] as operator:
        work = await consumer.publish_work(
            {
                "title": "Say something",
                "success_criteria": {"criteria": [CRITERION]},
                "budget": {"max_cpc": "0.10"},
                **changes,
            }
        )
        award = await consumer.award(work.work_id, names["agent"], "0.10")
        yield Table(consumer, agent, operator, award.contract_id)


def said(text: str) -> dict[str, str]:
    return {"text": text}


async def test_an_agent_is_told_why_until_it_passes(suite: Live) -> None:
    async with table(suite) as at:
        loop, produce = at.loop(said("one"), said("one two"), said("one two three"))
        end = await loop.run(QUERY)
        assert end == Passed(said("one two three"))
        assert await at.contract() == (ContractStatus.PASSED, 3)
    assert [ctx.attempt for ctx in produce.seen] == [1, 2, 3]
    assert produce.told[0] == QUERY
    assert [text.split("\n")[0] for text in produce.told[1:]] == [
        f'<verification_rejected code="criteria_not_met" attempt="{attempt}" max_attempts="3">' for attempt in (1, 2)
    ]


async def test_attempts_that_are_used_up_end_it_with_the_last_rejection(suite: Live) -> None:
    async with table(suite, verification={"max_attempts": 2}) as at:
        loop, _ = at.loop(said("one"), said("two"))
        end = await loop.run(QUERY)
        assert await at.contract() == (ContractStatus.EXHAUSTED, 2)
    assert isinstance(end, Exhausted)
    assert end.reason is Reason.MAX_ATTEMPTS
    assert end.last_rejection is not None
    assert (end.last_rejection.code, end.last_rejection.message) == ("criteria_not_met", "1 of 1 criteria not met.")
    assert end.context is not None
    assert (end.context.verification.attempts_used, end.context.verification.max_attempts) == (2, 2)


async def test_repeats_are_told_and_end_it_without_using_attempts(suite: Live) -> None:
    async with table(suite) as at:
        loop, produce = at.loop(*[said("one")] * 4, max_replays=3)
        end = await loop.run(QUERY)
        assert await at.contract() == (ContractStatus.AWAITING_REVISION, 1)
    assert isinstance(end, Exhausted)
    assert end.reason is Reason.NO_PROGRESS
    assert [text.split(" ")[0] for text in produce.told] == [
        "say",
        "<verification_rejected",
        "<candidate_repeated",
        "<candidate_repeated",
    ]


async def test_what_the_platform_does_not_take_is_told_and_uses_no_attempt(suite: Live) -> None:
    async with table(suite) as at:
        too_much = Candidate(output=said("one"), claimed_metrics={"x" * 70_000: 1})
        loop, produce = at.loop(too_much, said("one two three"))
        assert isinstance(await loop.run(QUERY), Passed)
        assert await at.contract() == (ContractStatus.PASSED, 1)
    assert produce.told[1].startswith('<output_invalid errors="1">')
    assert "/claimed_metrics: At most" in produce.told[1]


async def test_a_named_verifiers_word_comes_through(suite: Live) -> None:
    async with table(suite, success_criteria=None, verification={"verifier": "tone"}) as at:
        loop, produce = at.loop(said("bad words"), {"text": 7}, {}, said("bad again"), said("fine"))
        end = await loop.run(QUERY)
        assert isinstance(end, Passed)
        assert (end.result["text"], end.result["attempt"]) == ("FINE", 3)
        assert await at.contract() == (ContractStatus.PASSED, 3)
    assert produce.told[1].startswith('<verification_rejected code="tone" attempt="1" max_attempts="3">')
    assert produce.told[2].startswith('<output_invalid errors="1">\n- /output/text: ')
    assert produce.told[3].startswith('<output_invalid errors="1">\n- /output/text: ')
    assert [ctx.attempt for ctx in produce.seen] == [1, 2, 2, 2, 3]
    rejection = produce.seen[-1].progress.last_rejection
    assert rejection is not None
    assert (rejection.code, rejection.message) == ("tone", "say it without <bad>")


async def test_outputs_that_stay_invalid_end_it(suite: Live) -> None:
    async with table(suite, success_criteria=None, verification={"verifier": "tone"}) as at:
        loop, _ = at.loop({}, {"text": 7}, {}, max_invalid=2)
        end = await loop.run(QUERY)
        assert await at.contract() == (ContractStatus.AWARDED, 0)
    assert isinstance(end, Exhausted)
    assert end.reason is Reason.INVALID_OUTPUT


async def test_a_fatal_error_of_the_verifier_fails_it(suite: Live) -> None:
    async with table(suite, success_criteria=None, verification={"verifier": "tone"}) as at:
        loop, _ = at.loop(said("hopeless"))
        end = await loop.run(QUERY)
        assert await at.contract() == (ContractStatus.FAILED, 1)
    assert isinstance(end, Failed)
    assert isinstance(end.error, FatalAgentError)
    assert str(end.error) == "no text can help"


async def test_a_loop_that_was_killed_goes_on_with_its_budget_intact(suite: Live) -> None:
    """Killed after each message in turn: the same attempts are counted, and the same candidates judged."""
    outputs = [said("one"), said("two"), said("one two three")]
    for dies_after in range(1, 7):
        saved: list[str] = []

        def save(ctx: AgentContext, saved: list[str] = saved, dies_after: int = dies_after) -> None:
            saved.append(ctx.model_dump_json())
            if len(saved) == dies_after:
                raise Killed

        async with table(suite) as at:
            loop, _ = at.loop(*outputs, save=save)
            with pytest.raises(Killed):
                await loop.run(QUERY)
            ctx = AgentContext.model_validate_json(saved[-1])
            again, _ = at.loop(*outputs[ctx.turn :])
            assert await again.resume(ctx) == Passed(outputs[-1])
            assert await at.contract() == (ContractStatus.PASSED, 3)
            assert len((await at.agent.list_attempts(at.contract_id)).items) == 3


class Killed(Exception):
    """The process ends here."""


async def test_a_candidate_whose_answer_was_never_read_is_no_repeat(suite: Live) -> None:
    async with table(suite) as at:
        saved: list[AgentContext] = []
        loop, _ = at.loop(said("one"), save=saved.append)
        running = asyncio.create_task(loop.run(QUERY))
        async for event in at.agent.events(at.contract_id):
            assert event.type == "verification_rejected"
            break
        running.cancel()
        pending = next(ctx for ctx in saved if ctx.progress.candidate is not None)
        again, produce = at.loop(said("one two three"))
        assert await again.resume(pending) == Passed(said("one two three"))
        assert produce.told[0].startswith("<verification_rejected")
        assert await at.contract() == (ContractStatus.PASSED, 2)


@pytest.mark.parametrize("decisions", [["release"], ["retry", "release"]])
async def test_a_hold_is_waited_for_and_patience_that_is_over_is_resumed(suite: Live, decisions: list[str]) -> None:
    async with table(suite, org=fresh("org")) as at:  # self-dealing
        quick = Backoff(LOOK, LOOK)
        loop, _ = at.loop(said("one two three"), patience_s=3.0, backoff=quick)
        with pytest.raises(VerdictPending) as caught:
            await loop.run(QUERY)
        assert (await at.contract())[0] is ContractStatus.HELD
        again, produce = at.loop(backoff=quick)
        resumed = asyncio.create_task(again.resume(caught.value.context))
        seen: set[str] = set()
        for decision in decisions:
            hold = await at.hold(seen)
            assert not resumed.done()
            await at.operator.decide_hold(hold, decision, "as a test")
        assert await resumed == Passed(said("one two three"))
        assert produce.seen == []


async def test_a_hold_that_an_operator_rejects_fails_the_loop(suite: Live) -> None:
    async with table(suite, org=fresh("org")) as at:
        loop, _ = at.loop(said("one two three"))
        running = asyncio.create_task(loop.run(QUERY))
        await at.operator.decide_hold(await at.hold(set()), "reject", "as a test")
        end = await running
    assert isinstance(end, Failed)
    assert isinstance(end.error, FatalAgentError)


async def test_another_candidate_that_is_under_way_is_waited_for(suite: Live) -> None:
    async with table(suite) as at:
        loops = [at.loop(said(f"word{number}"), said("one two three"))[0] for number in range(2)]
        ends = await asyncio.gather(*(loop.run(QUERY) for loop in loops))
    assert Passed(said("one two three")) in ends


@pytest.mark.parametrize(
    ("deadline_s", "reason"), [(600, Reason.FINALISED), (2, Reason.EXPIRED), (600, Reason.CANCELLED)]
)
async def test_a_contract_that_is_closed_meanwhile_ends_it(suite: Live, deadline_s: int, reason: Reason) -> None:
    async with table(suite, verification={"deadline_s": deadline_s}) as at:

        async def produce(ctx: AgentContext) -> dict[str, str]:
            if reason is Reason.CANCELLED:
                await at.consumer.cancel_contract(at.contract_id)
            elif ctx.turn == 2 and reason is Reason.FINALISED:
                await at.agent.finalize(at.contract_id)
            elif reason is Reason.EXPIRED:
                await asyncio.sleep(2.2)
            return said(f"word{ctx.turn}")

        end = await RevisionLoop(produce, at.agent, at.contract_id).run(QUERY)
        assert isinstance(end, Exhausted)
        assert end.reason is reason
        never, unasked = at.loop()
        late = await never.run(QUERY)  # nobody is asked for what nobody takes
        assert isinstance(late, Exhausted)
        assert (late.reason, unasked.seen) == (reason, [])


async def test_a_contract_that_has_passed_has_its_result(suite: Live) -> None:
    async with table(suite) as at:
        await at.agent.submit_output(at.contract_id, said("one two three"), wait_s=20)
        loop, produce = at.loop()
        assert await loop.run(QUERY) == Passed(said("one two three"))
        assert produce.seen == []


async def test_what_others_have_posted_before_counts(suite: Live) -> None:
    async with table(suite) as at:
        await at.agent.submit_output(at.contract_id, said("one"), wait_s=20)
        loop, produce = at.loop(said("one"), said("one two three"))
        assert await loop.run(QUERY) == Passed(said("one two three"))
        assert await at.contract() == (ContractStatus.PASSED, 2)
    assert produce.seen[0].verification.attempts_used == 1
    assert produce.told[1].startswith("<candidate_repeated")


def test_a_loop_that_could_never_wait_is_refused() -> None:
    client = AsyncAexClient(Endpoints.local(), "token")
    with pytest.raises(ValueError, match="client must be an AsyncAexClient, not AexClient: the loop is asynchronous"):
        RevisionLoop(lambda _: 1, AexClient(Endpoints.local(), "token"), "ctr_1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="patience_s must be above 0"):
        RevisionLoop(lambda _: 1, client, "ctr_1", patience_s=0)


def test_the_loop_costs_whoever_does_not_use_it_nothing() -> None:
    code = "import aex_client, sys; print('aex_outcomes' in sys.modules, aex_client.RevisionLoop.__name__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "RevisionLoop"]
