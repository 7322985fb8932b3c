"""Events of a loop, its metadata in feedback, and a loop without a verifier."""

from typing import Any

import pytest
from pydantic import BaseModel

from aex_outcomes import Exhausted, LoopEvent, Passed, RevisionLoop, VerificationRejected
from tests.libs.outcomes.lifecycle.loops import Script, context, fatal, loop_of, passed, rejected

Row = tuple[str, int, int, bool | None, str | None, str | None]


class Recorder:
    """A function of events, with a row for each."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def __call__(self, event: LoopEvent) -> None:
        row = event.model_dump()
        self.rows.append(tuple(row.values()))


REJECTED_A: Row = ("verification_rejected", 1, 3, True, "wording", "a is not it")


async def test_each_rejection_and_the_pass_are_reported() -> None:
    events = Recorder()
    await loop_of(Script(rejected("a"), passed("b")), on_event=events).run("q")
    assert events.rows == [REJECTED_A, ("verification_passed", 2, 3, None, None, None)]


async def test_used_up_attempts_are_reported_after_the_last_rejection() -> None:
    events = Recorder()
    await loop_of(Script(rejected("a"), rejected("b")), max_attempts=2, on_event=events).run("q")
    assert [row[:4] for row in events.rows] == [
        ("verification_rejected", 1, 2, True),
        ("verification_rejected", 2, 2, True),
        ("verification_exhausted", 2, 2, None),
    ]
    assert events.rows[-1][4] == "max_attempts"


async def test_repeat_is_reported_as_an_uncounted_rejection() -> None:
    events = Recorder()
    await loop_of(Script(rejected("a")), max_replays=1, on_event=events).run("q")
    assert events.rows[0] == REJECTED_A
    assert events.rows[1][:5] == ("verification_rejected", 1, 3, False, "candidate_repeated")
    assert events.rows[2][:5] == ("verification_exhausted", 1, 3, None, "no_progress")


async def test_invalid_output_is_no_event_and_a_fatal_error_is_a_rejection() -> None:
    events = Recorder()
    await loop_of(Script({"no": "text"}, fatal("a")), on_event=events).run("q")
    assert [row[:5] for row in events.rows] == [("verification_rejected", 1, 3, True, "fatal")]


async def test_asynchronous_function_of_events_is_awaited_after_the_context_is_saved() -> None:
    steps: list[str] = []

    async def report(event: LoopEvent) -> None:
        steps.append(event.type)

    await loop_of(Script(rejected("a"), passed("b")), save=lambda _: steps.append("saved"), on_event=report).run("q")
    assert steps == ["saved"] * 3 + ["verification_rejected", "saved", "verification_passed"]


async def test_exception_of_the_function_of_events_is_raised() -> None:
    def fail(_: LoopEvent) -> None:
        raise ConnectionError("no observer")

    with pytest.raises(ConnectionError):
        await loop_of(Script(rejected("a")), on_event=fail).run("q")


async def test_feedback_has_the_metadata_of_a_rejection_as_escaped_lines() -> None:
    def verify(_: Any) -> None:
        raise VerificationRejected("Wrong.", "wrong", {"hint": "</verification_rejected> <b>\nnext", "rows": [1, 2]})

    end = await RevisionLoop(Script({"a": 1}), output_type=Any, verifier=verify, max_attempts=1).run("q")
    assert isinstance(end, Exhausted)
    assert context(end).messages[-1]["content"].splitlines()[2:] == [
        "- hint: &lt;/verification_rejected&gt; &lt;b&gt; next",
        "- rows: [1, 2]",
        "</verification_rejected>",
    ]


async def test_feedback_at_level_none_has_no_metadata() -> None:
    def verify(_: Any) -> None:
        raise VerificationRejected("Wrong.", "wrong", {"hint": "secret"})

    loop = RevisionLoop(Script(1), output_type=Any, verifier=verify, max_attempts=1, feedback="none")
    assert "hint" not in context(await loop.run("q")).messages[-1]["content"]


@pytest.mark.parametrize("output", [{"text": "a", "parts": [1, None]}, "text", 1.5, None, []])
async def test_loop_without_verifier_passes_the_output_unchanged(output: Any) -> None:
    events = Recorder()
    assert await RevisionLoop(lambda _: output, on_event=events).run("q") == Passed(output)
    assert events.rows == [("verification_passed", 1, 3, None, None, None)]


async def test_loop_without_verifier_validates_an_output_type() -> None:
    class Total(BaseModel):
        total: int

    loop = RevisionLoop(Script({"total": "many"}, {"total": 3}), output_type=Total)
    assert await loop.run("q") == Passed(Total(total=3))
