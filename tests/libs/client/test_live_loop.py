"""The revision loop on live contracts of the real suite."""

import asyncio
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
from aex_outcomes.lifecycle.context import AgentContext, Exhausted, Failed, Passed, Reason
from aex_outcomes.lifecycle.rejection import FatalAgentError
from tests.e2e.live import Live
from tests.e2e.parties import caller, fresh
from tests.e2e.shared_suite import shared_suite
from tests.shared import Shared

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
CRITERION = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3, "bonus": "0.05"}
QUERY = "say something"
TONE: dict[str, Any] = {"success_criteria": None, "verification": {"verifier": "tone"}}
LOOK = timedelta(milliseconds=100)


@pytest.fixture(scope="module")
def suite(shared: Shared) -> Iterator[Live]:
    with shared_suite(shared) as live:
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
        async with asyncio.timeout(90):
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
    outputs: list[Any]
    seen: list[AgentContext] = field(default_factory=list)

    async def __call__(self, ctx: AgentContext) -> Any:
        self.seen.append(ctx.model_copy(deep=True))
        return self.outputs.pop(0)

    @property
    def printed(self) -> list[str]:
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


def text(text: str) -> dict[str, str]:
    return {"text": text}


async def test_agent_reads_feedback_until_it_passes(suite: Live) -> None:
    async with table(suite) as at:
        too_large = Candidate(output=text("one"), claimed_metrics={"x" * 70_000: 1})
        loop, produce = at.loop(text("one"), too_large, text("one two"), text("one two three"))
        end = await loop.run(QUERY)
        assert end == Passed(text("one two three"))
        assert await at.contract() == (ContractStatus.PASSED, 3)
        never, unused = at.loop()
        assert (await never.run(QUERY), unused.seen) == (end, [])
    assert [ctx.attempt for ctx in produce.seen] == [1, 2, 2, 3]
    rejected = '<verification_rejected code="criteria_not_met" attempt="{}" max_attempts="3">'
    first_lines = [text.split("\n")[0] for text in produce.printed]
    assert first_lines == [QUERY, rejected.format(1), '<output_invalid errors="1">', rejected.format(2)]
    assert "/claimed_metrics: At most" in produce.printed[2]


async def test_last_attempt_ends_the_loop_with_its_rejection(suite: Live) -> None:
    async with table(suite, verification={"max_attempts": 2}) as at:
        loop, _ = at.loop(text("one"), text("two"))
        end = await loop.run(QUERY)
        assert await at.contract() == (ContractStatus.EXHAUSTED, 2)
    assert isinstance(end, Exhausted)
    assert end.reason is Reason.MAX_ATTEMPTS
    assert end.last_rejection is not None
    assert (end.last_rejection.code, end.last_rejection.message) == ("criteria_not_met", "1 of 1 criteria not met.")
    assert end.context is not None
    assert (end.context.verification.attempts_used, end.context.verification.max_attempts) == (2, 2)


async def test_repeats_and_invalid_outputs_end_the_loop_without_attempts(suite: Live) -> None:
    async with table(suite) as at:
        loop, produce = at.loop(*[text("one")] * 4, max_replays=3)
        end = await loop.run(QUERY)
        assert await at.contract() == (ContractStatus.AWAITING_REVISION, 1)
    assert isinstance(end, Exhausted)
    assert end.reason is Reason.NO_PROGRESS
    first_words = [text.split(" ")[0] for text in produce.printed]
    assert first_words == ["say", "<verification_rejected", "<candidate_repeated", "<candidate_repeated"]
    async with table(suite, **TONE) as at:
        loop, _ = at.loop({}, {"text": 7}, {}, max_invalid=2)
        end = await loop.run(QUERY)
        assert await at.contract() == (ContractStatus.AWARDED, 0)
    assert isinstance(end, Exhausted)
    assert end.reason is Reason.INVALID_OUTPUT


async def test_agent_reads_the_messages_of_a_named_verifier(suite: Live) -> None:
    async with table(suite, **TONE) as at:
        loop, produce = at.loop(text("bad words"), {"text": 7}, {}, text("bad again"), text("fine"))
        end = await loop.run(QUERY)
        assert isinstance(end, Passed)
        assert (end.result["text"], end.result["attempt"]) == ("FINE", 3)
        assert await at.contract() == (ContractStatus.PASSED, 3)
    assert produce.printed[1].startswith('<verification_rejected code="tone" attempt="1" max_attempts="3">')
    assert produce.printed[2].startswith('<output_invalid errors="1">\n- /output/text: ')
    assert produce.printed[3].startswith('<output_invalid errors="1">\n- /output/text: ')
    assert [ctx.attempt for ctx in produce.seen] == [1, 2, 2, 2, 3]
    rejection = produce.seen[-1].progress.last_rejection
    assert rejection is not None
    assert (rejection.code, rejection.message) == ("tone", "say it without <bad>")


async def test_fatal_error_of_the_verifier_fails_the_loop(suite: Live) -> None:
    async with table(suite, **TONE) as at:
        loop, _ = at.loop(text("hopeless"))
        end = await loop.run(QUERY)
        assert await at.contract() == (ContractStatus.FAILED, 1)
    assert isinstance(end, Failed)
    assert isinstance(end.error, FatalAgentError)
    assert str(end.error) == "no text can help"


@pytest.mark.parametrize("dies_after", [1, 2, 5])
async def test_killed_loop_resumes_with_the_same_attempts(suite: Live, dies_after: int) -> None:
    outputs = [text("one"), text("two"), text("one two three")]
    saved: list[str] = []

    def save(ctx: AgentContext) -> None:
        saved.append(ctx.model_dump_json())
        if len(saved) == dies_after:
            raise Killed

    async with table(suite) as at:
        loop, _ = at.loop(*outputs, save=save)
        with pytest.raises(Killed):
            await loop.run(QUERY)
        ctx = AgentContext.model_validate_json(saved[-1])
        repeated, _ = at.loop(*outputs[ctx.turn :])
        assert await repeated.resume(ctx) == Passed(outputs[-1])
        assert await at.contract() == (ContractStatus.PASSED, 3)
        assert len((await at.agent.list_attempts(at.contract_id)).items) == 3


class Killed(Exception):
    """The process ends here."""


async def test_candidate_with_an_unread_answer_is_not_a_repeat(suite: Live) -> None:
    async with table(suite) as at:
        saved: list[AgentContext] = []
        loop, _ = at.loop(text("one"), save=saved.append)
        running = asyncio.create_task(loop.run(QUERY))
        async for event in at.agent.events(at.contract_id):
            assert event.type == "verification_rejected"
            break
        running.cancel()
        pending = next(ctx for ctx in saved if ctx.progress.candidate is not None)
        repeated, produce = at.loop(text("one two three"))
        assert await repeated.resume(pending) == Passed(text("one two three"))
        assert produce.printed[0].startswith("<verification_rejected")
        assert await at.contract() == (ContractStatus.PASSED, 2)


async def test_loop_resumes_after_its_time_limit_and_waits_for_the_decisions_on_a_hold(suite: Live) -> None:
    async with table(suite, org=fresh("org")) as at:  # self-dealing
        quick = Backoff(LOOK, LOOK)
        loop, _ = at.loop(text("one two three"), patience_s=3.0, backoff=quick)
        with pytest.raises(VerdictPending) as caught:
            await loop.run(QUERY)
        repeated, produce = at.loop(backoff=quick)
        resumed = asyncio.create_task(repeated.resume(caught.value.context))
        seen: set[str] = set()
        for decision in ("retry", "release"):
            hold = await at.hold(seen)
            assert not resumed.done()
            await at.operator.decide_hold(hold, decision, "as a test")
        assert await resumed == Passed(text("one two three"))
        assert produce.seen == []


async def test_hold_rejected_by_an_operator_fails_the_loop(suite: Live) -> None:
    async with table(suite, org=fresh("org")) as at:
        loop, _ = at.loop(text("one two three"))
        running = asyncio.create_task(loop.run(QUERY))
        await at.operator.decide_hold(await at.hold(set()), "reject", "as a test")
        end = await running
    assert isinstance(end, Failed)
    assert isinstance(end.error, FatalAgentError)


async def test_loop_waits_for_another_candidate_in_progress(suite: Live) -> None:
    async with table(suite) as at:
        loops = [at.loop(text(f"word{number}"), text("one two three"))[0] for number in range(2)]
        ends = await asyncio.gather(*(loop.run(QUERY) for loop in loops))
    assert Passed(text("one two three")) in ends


@pytest.mark.parametrize(
    ("deadline_s", "reason"), [(600, Reason.FINALISED), (2, Reason.EXPIRED), (600, Reason.CANCELLED)]
)
async def test_closed_contract_ends_the_loop(suite: Live, deadline_s: int, reason: Reason) -> None:
    async with table(suite, verification={"deadline_s": deadline_s}) as at:

        async def produce(ctx: AgentContext) -> dict[str, str]:
            if reason is Reason.CANCELLED:
                await at.consumer.cancel_contract(at.contract_id)
            elif ctx.turn == 2 and reason is Reason.FINALISED:
                await at.agent.finalize(at.contract_id)
            elif reason is Reason.EXPIRED:
                await asyncio.sleep(2.2)
            return text(f"word{ctx.turn}")

        end = await RevisionLoop(produce, at.agent, at.contract_id).run(QUERY)
        assert isinstance(end, Exhausted)
        assert end.reason is reason
        never, unasked = at.loop()
        late = await never.run(QUERY)
        assert isinstance(late, Exhausted)
        assert (late.reason, unasked.seen) == (reason, [])


async def test_earlier_candidates_of_others_count(suite: Live) -> None:
    async with table(suite) as at:
        await at.agent.submit_output(at.contract_id, text("one"), wait_s=20)
        loop, produce = at.loop(text("one"), text("one two three"))
        assert await loop.run(QUERY) == Passed(text("one two three"))
        assert await at.contract() == (ContractStatus.PASSED, 2)
    assert produce.seen[0].verification.attempts_used == 1
    assert produce.printed[1].startswith("<candidate_repeated")


def test_bad_arguments_of_the_loop_are_refused() -> None:
    client = AsyncAexClient(Endpoints.local(), "token")
    with pytest.raises(ValueError, match="client must be an AsyncAexClient, not AexClient: the loop is asynchronous"):
        RevisionLoop(lambda _: 1, AexClient(Endpoints.local(), "token"), "ctr_1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="patience_s must be above 0"):
        RevisionLoop(lambda _: 1, client, "ctr_1", patience_s=0)
