import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_models.contract import Candidate
from aex_models.numbers import JsonFloat
from aex_outcomes import AgentContext, FatalAgentError, Passed, RevisionLoop
from aex_outcomes.lifecycle.context import LoopOutcome
from aex_outcomes.lifecycle.outputs import candidate_hash
from tests.examples import examples
from tests.libs.outcomes.lifecycle.loops import (
    Script,
    Word,
    contents,
    context,
    crashes,
    fatal,
    loop_of,
    outcome_parts,
    passed,
    rejected,
)


class Killed(BaseException):
    """The process is gone."""


class Disk:
    def __init__(self) -> None:
        self.text: str | None = None
        self.writes = 0
        self.lives: int | None = None
        """Writes until the next kill; None: it is never killed."""

    def save(self, ctx: AgentContext) -> None:
        self.text = ctx.model_dump_json()
        self.writes += 1
        if self.lives is not None:
            self.lives -= 1
            if self.lives < 0:
                raise Killed

    def read(self) -> AgentContext:
        assert self.text is not None
        return AgentContext.model_validate_json(self.text)


INVALID = {"text": 5}
STORY = (
    rejected("a"),
    INVALID,
    rejected("a"),
    {"text": "b", "n": float("nan")},
    crashes("c", 1) | {"verdict": "rejected"},
    rejected("a"),
    rejected("d"),
    passed("e"),
)
"""Each kind of turn: 1 + 2 messages for each turn but the last, which has one."""


def story_loop(disk: Disk, verifier: Word, **more: Any) -> RevisionLoop:
    return loop_of(Script(*STORY), verifier, max_attempts=4, save=disk.save, **more)


async def uninterrupted() -> tuple[LoopOutcome, int]:
    disk = Disk()
    end = await story_loop(disk, Word()).run("q")
    return end, disk.writes


@pytest.mark.parametrize("write", range(15))
async def test_a_loop_killed_after_any_message_ends_as_if_it_had_not_been(write: int) -> None:
    complete, writes = await uninterrupted()
    assert (complete, writes) == (Passed("E"), 15)
    disk = Disk()
    disk.lives = write
    with pytest.raises(Killed):
        await story_loop(disk, Word()).run("q")
    disk.lives = None
    end = await story_loop(disk, Word()).resume(disk.read())
    assert outcome_parts(end) == outcome_parts(complete)
    assert context(end) == context(complete)


async def cancelled_in(loop: Callable[[Disk, asyncio.Event], RevisionLoop]) -> AgentContext:
    disk, reached = Disk(), asyncio.Event()
    task = asyncio.create_task(loop(disk, reached).run("q"))
    await asyncio.wait_for(reached.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return disk.read()


async def test_a_loop_cancelled_while_it_produces_repeats_the_turn() -> None:
    def loop(disk: Disk, reached: asyncio.Event) -> RevisionLoop:
        async def produce(ctx: AgentContext) -> Any:
            if ctx.turn == 1:
                return rejected("a")
            reached.set()
            ctx.messages.append({"role": "assistant", "content": "half of an ans"})
            return await asyncio.sleep(60)

        return loop_of(produce, save=disk.save)

    saved = await cancelled_in(loop)
    assert (saved.turn, saved.verification.attempts_used) == (1, 1)
    assert [role for role, _ in contents(saved.messages)] == ["user", "assistant", "user"]
    end = await loop_of(Script(rejected("a"), passed("b"))).resume(saved)
    assert (end, context(end).turn) == (Passed("B"), 2)


async def test_a_loop_cancelled_while_it_verifies_judges_the_same_candidate_and_counts_it_once() -> None:
    def loop(disk: Disk, reached: asyncio.Event) -> RevisionLoop:
        async def verify(_draft: Any) -> None:
            reached.set()
            await asyncio.sleep(60)

        return loop_of(Script(rejected("a")), verify, save=disk.save)

    saved = await cancelled_in(loop)
    assert saved.progress.candidate is not None
    produce, verifier = Script(rejected("never asked"), passed("b")), Word()
    end = await loop_of(produce, verifier).resume(saved)
    assert end == Passed("B")
    assert verifier.judged == ["a", "b"]
    assert context(end).verification.attempts_used == 2


async def test_a_loop_cancelled_while_it_waits_for_a_crashed_verifier_counts_nothing() -> None:
    def loop(disk: Disk, reached: asyncio.Event) -> RevisionLoop:
        async def wait(_seconds: float) -> None:
            reached.set()
            await asyncio.sleep(60)

        return loop_of(Script(crashes("a", 1)), sleep=wait, save=disk.save)

    saved = await cancelled_in(loop)
    assert saved.verification.attempts_used == 0
    end = await loop_of(Script(passed("never asked"))).resume(saved)
    assert end == Passed("A")


async def test_a_resumed_loop_keeps_the_budget_it_had() -> None:
    disk = Disk()
    disk.lives = 2
    with pytest.raises(Killed):
        await loop_of(Script(*map(rejected, "abc")), max_attempts=2, save=disk.save).run("q")
    end = await loop_of(Script(*map(rejected, "abcdef")), max_attempts=50).resume(disk.read())
    assert outcome_parts(end)[:2] == ("exhausted", "max_attempts")
    assert context(end).verification.attempts_used == 2


@pytest.mark.parametrize("outputs", [[rejected("a")], [rejected(each) for each in "abc"], [INVALID]])
async def test_a_loop_that_had_given_up_gives_up_a_second_time_and_calls_nothing(outputs: list[Any]) -> None:
    end = await loop_of(Script(*outputs)).run("q")
    produce = Script(passed("a"))
    second = await loop_of(produce).resume(AgentContext.model_validate_json(context(end).model_dump_json()))
    assert outcome_parts(second) == outcome_parts(end)
    assert produce.seen == []


async def test_a_loop_that_had_passed_passes_a_second_time_with_the_same_result() -> None:
    end = await loop_of(Script(rejected("a"), passed("b"))).run("q")
    second = await loop_of(Script(rejected("never asked"))).resume(context(end))
    assert second == Passed("B")
    assert context(second).verification.attempts_used == 2


async def test_a_loop_with_verifier_kept_crashing_goes_on_once_the_verifier_is_well() -> None:
    end = await loop_of(Script(crashes("a", 9)), max_system_retries=2).run("q")
    assert outcome_parts(end) == ("failed", ConnectionError, "crash 3")
    second = await loop_of(Script(rejected("never asked")), lambda draft: draft.text).resume(context(end))
    assert second == Passed("a")
    assert context(second).verification.attempts_used == 1


texts = st.sampled_from("abcd")
turns = st.one_of(
    st.builds(rejected, texts),
    st.builds(rejected, texts),
    st.builds(crashes, texts, st.integers(0, 4)),
    st.just(INVALID),
    st.just({"text": "n", "n": float("nan")}),
    st.builds(passed, texts),
    st.builds(fatal, texts),
    st.just(FatalAgentError("no more")),
)


async def run_through(script: list[Any], kills: list[int]) -> tuple[LoopOutcome, Word]:
    """Run to the end, killed at each of these writes of a life (and then not at all)."""
    disk, verifier = Disk(), Word()
    bounds = {"max_attempts": 3, "max_replays": 2, "max_invalid": 2, "max_system_retries": 2}
    for lives in [*kills, None]:
        disk.lives = lives
        verifier.crashes.clear()  # a new process: retries begin from the start, on both sides
        loop = loop_of(Script(*script), verifier, save=disk.save, **bounds)
        try:
            return await (loop.resume(disk.read()) if disk.text else loop.run("q")), verifier
        except Killed:
            continue
    raise AssertionError("the last life is endless")


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(turns, min_size=1, max_size=8), st.lists(st.integers(0, 6), max_size=6))
async def test_any_story_killed_anywhere_ends_as_the_uninterrupted_one(script: list[Any], kills: list[int]) -> None:
    complete, _ = await run_through(script, [])
    end, verifier = await run_through(script, kills)
    assert outcome_parts(end) == outcome_parts(complete)
    assert context(end) == context(complete)
    verification = context(end).verification
    assert verification.attempts_used == len(verification.judged) == len(verifier.ruled) <= verification.max_attempts
    assert len({each.attempt_id for each in verification.judged.values()}) == len(verification.judged)


async def test_a_candidate_that_waits_to_be_judged_keeps_its_claims_as_they_were_written() -> None:
    seen: list[tuple[str, str]] = []

    def verify(_: Any, candidate: Candidate) -> None:
        seen.append((candidate.claimed_values["mean"].text, candidate_hash(candidate)))

    disk = Disk()
    disk.lives = 1  # the query is saved, the candidate is, and it is not judged
    claimed = Candidate(output=1, claimed_values={"mean": JsonFloat("11.170")})
    loop = RevisionLoop(lambda _: claimed, output_type=int, verifier=verify, save=disk.save)
    with pytest.raises(Killed):
        await loop.run("q")
    disk.lives = None
    assert isinstance(await loop.resume(disk.read()), Passed)
    assert seen == [("11.170", candidate_hash(claimed))]
