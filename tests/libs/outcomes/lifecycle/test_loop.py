import asyncio
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from pydantic import BaseModel

from aex_models.contract import Candidate
from aex_outcomes import (
    AgentContext,
    Exhausted,
    Failed,
    FatalAgentError,
    Passed,
    Reason,
    RevisionLoop,
    VerificationRejected,
)
from aex_outcomes.lifecycle.state import LastOutcome
from tests.libs.outcomes.lifecycle.loops import (
    Draft,
    Script,
    Waits,
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


async def test_a_rejection_and_then_a_pass_gives_what_the_verifier_made_of_it() -> None:
    produce = Script(rejected("a"), passed("b"))
    end = await loop_of(produce).run("summarise this")
    assert end == Passed("B")
    assert context(end).verification.attempts_used == 2
    assert contents(produce.seen[1].messages) == [
        ("user", "summarise this"),
        ("assistant", '{"text": "a"}'),
        ("user", '<verification_rejected code="wording" attempt="1" max_attempts="3">'),
    ]
    assert [(each.turn, each.attempt) for each in produce.seen] == [(1, 1), (2, 2)]


async def test_max_attempts_different_rejections_exhaust_the_loop() -> None:
    end = await loop_of(Script(*map(rejected, "abcdef")), max_attempts=4).run("q")
    assert outcome_parts(end) == ("exhausted", "max_attempts", ("d is not it", "wording", {"attempt": 4}))
    verification = context(end).verification
    assert (verification.attempts_used, len(verification.judged)) == (4, 4)
    assert [each.attempt_id for each in verification.judged.values()] == ["att_1", "att_2", "att_3", "att_4"]


async def test_outcome_has_the_exception_that_was_raised() -> None:
    errors: list[Exception] = [VerificationRejected("first"), VerificationRejected("second"), FatalAgentError("no")]
    raised = iter(errors)

    def verify(_: Draft) -> None:
        raise next(raised)

    end = await loop_of(Script(*map(rejected, "ab")), verify, max_attempts=2).run("q")
    assert isinstance(end, Exhausted)
    assert end.last_rejection is errors[1]
    failed = await loop_of(Script(rejected("a")), verify).run("q")
    assert isinstance(failed, Failed)
    assert failed.error is errors[2]


async def test_the_same_rejected_candidate_ten_times_costs_one_attempt_and_no_work() -> None:
    produce, verifier = Script(*[rejected("a")] * 11, passed("b")), Word()
    end = await loop_of(produce, verifier, max_replays=100).run("q")
    assert end == Passed("B")
    assert verifier.judged == ["a", "b"]
    assert context(end).verification.attempts_used == 2
    assert context(end).messages[-2]["content"].splitlines()[0] == (
        '<candidate_repeated attempt="1" max_attempts="3" replays="10" max_replays="100">'
    )


async def test_a_producer_that_repeats_itself_ends_as_no_progress() -> None:
    produce, verifier = Script(rejected("a")), Word()
    end = await loop_of(produce, verifier, max_attempts=9).run("q")
    assert outcome_parts(end) == ("exhausted", "no_progress", ("a is not it", "wording", {"attempt": 1}))
    assert (len(produce.seen), verifier.judged) == (4, ["a"])
    assert context(end).verification.attempts_used == 1


async def test_an_older_rejected_candidate_is_a_repeat_too() -> None:
    produce, verifier = Script(*map(rejected, "ababab")), Word()
    end = await loop_of(produce, verifier, max_attempts=9).run("q")
    assert isinstance(end, Exhausted)
    assert (end.reason, verifier.judged, len(produce.seen)) == (Reason.NO_PROGRESS, ["a", "b"], 5)


async def test_a_verifier_that_crashes_costs_no_attempt_and_is_retried_with_growing_pauses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    waits, verifier = Waits(), Word()
    end = await loop_of(Script(crashes("a", 4)), verifier, sleep=waits, jitter=lambda: 0.0, max_attempts=1).run("q")
    assert end == Passed("A")
    assert verifier.judged == ["a"] * 5
    assert waits.seconds == [0.1, 0.2, 0.4, 0.8]
    assert context(end).verification.attempts_used == 1
    assert re.findall(r"verifier_crashed .*?error.*?ConnectionError: crash (\d)", capsys.readouterr().out) == [*"1234"]


async def test_a_verifier_that_keeps_crashing_fails_the_loop_with_its_error_and_the_budget_untouched() -> None:
    waits = Waits()
    end = await loop_of(Script(rejected("a"), crashes("b", 9)), sleep=waits, max_system_retries=2).run("q")
    assert outcome_parts(end) == ("failed", ConnectionError, "crash 3")
    assert len(waits.seconds) == 2
    verification = context(end).verification
    assert (verification.attempts_used, verification.last_outcome) == (1, LastOutcome.SYSTEM_ERROR)


async def test_a_fatal_error_of_the_verifier_ends_at_once_and_counts() -> None:
    produce = Script(fatal("a"), passed("b"))
    end = await loop_of(produce).run("q")
    assert outcome_parts(end) == ("failed", FatalAgentError, "a is beyond hope")
    assert (len(produce.seen), context(end).verification.attempts_used) == (1, 1)


async def test_a_fatal_error_of_the_producer_ends_at_once_and_counts_nothing() -> None:
    end = await loop_of(Script(FatalAgentError("no model left"))).run("q")
    assert outcome_parts(end) == ("failed", FatalAgentError, "no model left")
    assert context(end).verification.attempts_used == 0


async def test_invalid_output_is_answered_with_its_errors_and_costs_nothing() -> None:
    produce, verifier = Script({"text": 5}, {"verdict": "passed"}, passed("c")), Word()
    end = await loop_of(produce, verifier, max_attempts=1).run("q")
    assert end == Passed("C")
    assert verifier.judged == ["c"]
    assert context(end).verification.attempts_used == 1
    assert produce.seen[1].messages[-1] == {
        "role": "user",
        "content": '<output_invalid errors="1">\n- /output/text: Input should be a valid string\n</output_invalid>',
    }
    assert "- /output/text: Field required" in produce.seen[2].messages[-1]["content"]


@pytest.mark.parametrize("max_invalid", [0, 2])
async def test_more_than_max_invalid_outputs_in_a_row_exhaust_the_loop(max_invalid: int) -> None:
    produce = Script(rejected("a"), {"text": 5})
    end = await loop_of(produce, max_invalid=max_invalid).run("q")
    assert outcome_parts(end) == ("exhausted", "invalid_output", ("a is not it", "wording", {"attempt": 1}))
    assert len(produce.seen) == 1 + max_invalid + 1


async def test_a_valid_output_starts_the_row_of_invalid_ones_from_the_start() -> None:
    bad = {"text": 5}
    produce = Script(bad, bad, rejected("a"), bad, bad, rejected("a"), bad, bad, passed("b"))
    assert await loop_of(produce, max_invalid=2).run("q") == Passed("B")


async def test_no_mixture_of_repeats_and_invalid_outputs_goes_on_for_ever() -> None:
    def produce(ctx: AgentContext) -> Any:
        return rejected("a") if ctx.turn % 2 else {"text": 5}

    end = await asyncio.wait_for(loop_of(produce).run("q"), 20)
    assert isinstance(end, Exhausted)
    assert end.reason is Reason.NO_PROGRESS


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ({"text": "a", "n": float("nan")}, "- /output/n: numbers must be finite"),
        ({"text": "a", "n": 2**60}, "- /output/n: integers must be within ±(2^53 − 1)"),
        ({"text": "\ud800"}, "- /output/text: strings must hold no lone surrogates"),
        (Candidate.model_construct(**dict(Candidate(output=passed("a"))) | {"claimed_values": {"x": float("inf")}}),
         "- /claimed_values/x: numbers must be finite"),
    ],
)  # fmt: skip
async def test_output_that_is_no_canonical_json_is_invalid_at_its_path(output: Any, problem: str) -> None:
    produce = Script(output, passed("b"))
    saved: list[str] = []
    end = await loop_of(produce, save=lambda ctx: saved.append(ctx.model_dump_json())).run("q")
    assert end == Passed("B")
    assert problem in produce.seen[1].messages[-1]["content"]
    assert len(saved) == 3


async def test_an_output_without_a_json_form_is_the_callers_mistake() -> None:
    with pytest.raises(TypeError, match=r"A object that has no JSON form .*: give JSON, a pydantic model"):
        await loop_of(Script(object())).run("q")


async def test_asynchronous_producers_and_savers_are_awaited() -> None:
    saved: list[AgentContext] = []

    async def produce(_ctx: AgentContext) -> Any:
        await asyncio.sleep(0)
        return passed("a")

    async def save(ctx: AgentContext) -> None:
        await asyncio.sleep(0)
        saved.append(ctx)

    assert await loop_of(produce, save=save).run({"ask": ["a", 1]}) == Passed("A")
    assert [contents(each.messages)[-1] for each in saved] == [
        ("user", '{"ask": ["a", 1]}'),
        ("assistant", '{"text": "a", "verdict": "passed"}'),
    ]


@pytest.mark.parametrize(
    ("level", "lines"),
    [
        ("none", []),
        ("criteria", ["Summary: a is not it", "- attempt: 1"]),
        ("full", ["Summary: a is not it", "- attempt: 1"]),
    ],
)
async def test_how_much_is_reported_is_the_loops_choice(level: str, lines: list[str]) -> None:
    produce = Script(rejected("a"), passed("b"))
    await loop_of(produce, feedback=level).run("q")
    assert produce.seen[1].messages[-1]["content"].splitlines()[1:-1] == lines
    ElementTree.fromstring(produce.seen[1].messages[-1]["content"])  # noqa: S314 our own text


async def test_a_verifier_that_is_retried_is_reported_of_its_crash() -> None:
    reported: list[LastOutcome | None] = []

    def wavering(_: Draft, agent_ctx: AgentContext) -> None:
        reported.append(agent_ctx.verification.last_outcome)
        if len(reported) < 3:
            raise ConnectionError

    assert await loop_of(Script(passed("a")), wavering, sleep=Waits()).run("q") == Passed(None)
    assert reported == [None, LastOutcome.SYSTEM_ERROR, LastOutcome.SYSTEM_ERROR]


async def test_the_verifier_is_reported_of_attempt_and_accounting() -> None:
    seen: list[AgentContext] = []

    def verify(_draft: Draft, agent_ctx: AgentContext) -> None:
        seen.append(agent_ctx)
        agent_ctx.messages.clear()
        raise VerificationRejected("no")

    end = await loop_of(Script(*map(rejected, "ab")), verify, max_attempts=2).run("q")
    assert [(each.attempt, each.verification.attempts_used, each.output["text"]) for each in seen] == [
        (1, 0, "a"),
        (2, 1, "b"),
    ]
    assert len(context(end).messages) == 5


class Unusual(BaseModel):
    pass


def takes_two(_one: Any, _two: Any) -> None: ...


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_attempts": 0}, "max_attempts must be a whole number of at least 1, not 0"),
        ({"max_attempts": -3}, "max_attempts must be"),
        ({"max_attempts": 2.5}, "max_attempts must be a whole number"),
        ({"max_attempts": True}, "max_attempts must be a whole number"),
        ({"max_replays": 0}, "max_replays must be a whole number of at least 1"),
        ({"max_invalid": -1}, "max_invalid must be a whole number of at least 0"),
        ({"max_system_retries": -1}, "max_system_retries must be a whole number of at least 0"),
        ({"output_type": None}, "output_type is missing: give the type"),
        ({"verifier": Unusual}, "the class Unusual"),
        ({"verifier": takes_two}, "The verifier's parameter '_two' has no value"),
        ({"feedback": "loud"}, "'loud' is not a valid FeedbackLevel"),
        ({"produce": None}, "produce is of type NoneType, which cannot be called"),
        ({"produce": lambda: 1}, "produce must take one argument, the AgentContext, and need no other: too many"),
        ({"produce": takes_two}, "produce must take one argument, the AgentContext, and need no other: missing"),
    ],
)
def test_what_could_not_be_served_is_refused_at_construction(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"produce": Script(1), "verifier": Word(), "output_type": Draft} | change
    with pytest.raises(ValueError, match=message):
        RevisionLoop(**given)
