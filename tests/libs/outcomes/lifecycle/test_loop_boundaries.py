import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from aex_models.contract import Artifact, Candidate, ExecutionMetadata
from aex_outcomes import AgentContext, FatalAgentError, Passed, RevisionLoop, VerificationRejected
from aex_outcomes.json_values import MAX_DEPTH
from tests.examples import examples
from tests.libs.outcomes.lifecycle.loops import (
    Script,
    Waits,
    Word,
    contents,
    context,
    fatal,
    loop_of,
    outcome_parts,
    passed,
    rejected,
)
from tests.libs.outcomes.lifecycle.test_ruling import TEXTS, VALUES, nested


async def test_a_verifier_changes_its_own_copies_alone() -> None:
    seen: list[Any] = []

    def meddling(_output: Any, agent_ctx: AgentContext, candidate: Candidate) -> None:
        seen.append((candidate.output["text"], agent_ctx.output["text"], len(agent_ctx.messages)))
        candidate.output["text"] = agent_ctx.output["text"] = agent_ctx.query["ask"] = "changed"  # type: ignore[index,call-overload]
        candidate.claimed_metrics["words"] = 9
        agent_ctx.messages[0]["content"] = "changed"
        agent_ctx.verification.judged.clear()
        if len(seen) == 1:
            raise ConnectionError
        raise VerificationRejected("no")

    produce = Script(Candidate(output={"text": "a"}, claimed_metrics={"words": 1}))
    loop = RevisionLoop(produce, output_type=Any, verifier=meddling, max_attempts=2, max_replays=2, sleep=Waits())
    end = await loop.run({"ask": "q"})
    assert outcome_parts(end)[1] == "no_progress"
    assert seen == [("a", "a", 2), ("a", "a", 2)]
    assert context(end).query == {"ask": "q"}
    assert context(end).output == {"text": "a"}
    assert contents(context(end).messages)[0] == ("user", '{"ask": "q"}')


async def test_a_producer_changes_its_own_copies_alone() -> None:
    kept: dict[str, Any] = {"text": "a"}
    claims: dict[str, Any] = {"words": 1}
    judged: list[Any] = []

    def meddling(ctx: AgentContext) -> Any:
        assert ctx.query == {"ask": "q"}
        assert ctx.output == (None if ctx.turn == 1 else {"text": "a" * (ctx.turn - 1)})
        ctx.query["ask"] = "changed"
        if ctx.output:
            ctx.output["text"] = ctx.progress.last_rejection.metadata["a"] = "changed"  # type: ignore[union-attr]
        kept["text"] = "a" * ctx.turn
        return Candidate(output=kept, claimed_metrics=claims)

    def verify(output: dict[str, str], candidate: Candidate) -> None:
        claims["words"] = 99
        kept["text"] = "changed later"
        judged.append((output, candidate.claimed_metrics))
        raise VerificationRejected("no", metadata={"a": 1})

    end = await RevisionLoop(meddling, output_type=Any, verifier=verify, max_attempts=3).run({"ask": "q"})
    assert [output for output, _ in judged] == [{"text": "a"}, {"text": "aa"}, {"text": "aaa"}]
    assert judged[0][1] == {"words": 1}
    assert outcome_parts(end)[2] == ("no", None, {"a": 1})
    assert context(end).progress.last_rejection.metadata == {"a": 1}  # type: ignore[union-attr]


MESSAGES = st.fixed_dictionaries({"role": st.just("assistant"), "content": VALUES})
CLAIMS = st.dictionaries(st.text(max_size=5), st.integers(-9, 9) | st.booleans() | st.just(1.5), max_size=2)


@settings(deadline=None, max_examples=examples(60))
@given(VALUES, st.lists(MESSAGES, max_size=2), VALUES, CLAIMS, st.dictionaries(TEXTS, VALUES, max_size=3))
def test_whatever_a_loop_saves_can_be_read_back_and_is_what_was_saved(
    query: Any, messages: list[Any], output: Any, claims: dict[str, Any], metadata: dict[str, Any]
) -> None:
    saved: list[tuple[AgentContext, str]] = []

    def produce(ctx: AgentContext) -> Candidate:
        ctx.messages.extend(messages)
        extra = ExecutionMetadata.model_validate({"duration_ms": 1.0, "extra": metadata})
        artifact = Artifact(name="a", media_type="text/plain", content="x")
        return Candidate(output=output, claimed_metrics=claims, execution_metadata=extra, artifacts=(artifact,))

    def verify(_output: Any) -> None:
        raise VerificationRejected(str(output), str(query), metadata)

    loop = RevisionLoop(
        produce,
        output_type=Any,
        verifier=verify,
        max_attempts=1,
        max_invalid=1,
        save=lambda ctx: saved.append((ctx, ctx.model_dump_json())),
    )
    try:
        asyncio.run(loop.run(query))
    except TypeError as error:
        assert "give" in str(error)  # noqa: PT017 what cannot be saved is refused with a fix, or else is saved whole
    for ctx, text in saved:
        assert AgentContext.model_validate_json(text) == ctx


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 20_000])
async def test_an_output_that_nests_too_deep_is_invalid_and_the_loop_goes_on(levels: int) -> None:
    produce = Script({"text": nested(levels)}, passed("b"))
    end = await loop_of(produce).run("q")
    assert end == Passed("B")
    reports = produce.seen[1].messages[-1]["content"]
    assert reports.startswith('<output_invalid errors="1">')
    assert "an output has at most 63 levels" in reports


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (float("nan"), "The query cannot be saved as JSON: /: numbers must be finite; give it as a text"),
        ({"a": [2**60]}, "The query cannot be saved as JSON: /a/0: integers must be within"),
        (["\ud800"], "The query cannot be saved as JSON: /0: strings must hold no lone surrogates"),
        (nested(MAX_DEPTH + 1), "The query is nested more than 63 levels deep, at /0/0/"),
        (nested(300), "A list that has no JSON form"),
    ],
)
async def test_a_query_that_could_not_be_read_back_is_refused(query: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        await loop_of(Script(passed("a"))).run(query)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (float("inf"), r"agent_ctx.messages\[1\] cannot be saved as JSON: /content: numbers must be finite"),
        (10**4_200, r"agent_ctx.messages\[1\] cannot be saved as JSON: /content: integers must be within"),
        (nested(MAX_DEPTH), r"agent_ctx.messages\[1\] is nested more than 63 levels deep, at /content/0/"),
    ],
)
async def test_a_message_that_could_not_be_read_back_is_refused(content: Any, message: str) -> None:
    def produce(ctx: AgentContext) -> Any:
        ctx.messages.append({"role": "assistant", "content": content})
        return passed("a")

    with pytest.raises(TypeError, match=message):
        await loop_of(produce).run("q")


class Mute(Exception):
    def __str__(self) -> str:
        raise KeyError("no text")


async def test_a_verifier_with_error_has_no_text_is_retried() -> None:
    crashes = [Mute()]

    def verify(_output: Any) -> str:
        if crashes:
            raise crashes.pop()
        return "fine"

    with capture_logs() as logs:
        end = await loop_of(Script(passed("a")), verify).run("q")
    assert end == Passed("fine")
    assert [each["error"] for each in logs] == ["Mute"]


async def test_a_fatal_end_stays_one() -> None:
    saved: list[str] = []
    word, produce = Word(), Script(rejected("a"), fatal("b"))
    loop = loop_of(produce, word, save=lambda ctx: saved.append(ctx.model_dump_json()))
    end = await loop.run("q")
    assert outcome_parts(end) == ("failed", FatalAgentError, "b is beyond hope")
    for text in (saved[-1], context(end).model_dump_json()):
        second = await loop.resume(AgentContext.model_validate_json(text))
        assert outcome_parts(second) == outcome_parts(end)
        assert context(second) == context(end)
    assert (len(produce.seen), word.judged) == (2, ["a", "b"])


@pytest.mark.parametrize("error", [FatalAgentError("no \ud800"), ExceptionGroup("g", [FatalAgentError("no \ud800")])])
async def test_a_producer_that_has_given_up_has_given_up_for_good(error: Exception) -> None:
    saved: list[str] = []
    loop = loop_of(Script(rejected("a"), error), save=lambda ctx: saved.append(ctx.model_dump_json()))
    end = await loop.run("q")
    assert outcome_parts(end) == ("failed", FatalAgentError, "no \ud800")
    produce = Script(passed("c"))
    second = await loop_of(produce).resume(AgentContext.model_validate_json(saved[-1]))
    assert outcome_parts(second) == ("failed", FatalAgentError, "no ?")
    assert context(second).progress.last_rejection is not None
    assert produce.seen == []


async def pending() -> AgentContext:
    saved: list[AgentContext] = []
    await loop_of(Script(rejected("a")), save=saved.append).run("q")
    return next(each for each in saved if each.progress.candidate is not None)


async def test_a_candidate_without_an_attempt_left_is_not_judged() -> None:
    ctx, word = await pending(), Word()
    used = ctx.verification.model_copy(update={"attempts_used": 5})
    end = await loop_of(Script(passed("b")), word).resume(ctx.model_copy(update={"verification": used}))
    assert outcome_parts(end)[:2] == ("exhausted", "max_attempts")
    assert word.judged == []


@pytest.mark.parametrize("output", [float("nan"), 2**70, "\ud800", nested(100)])
async def test_a_pending_candidate_that_no_loop_has_saved_is_invalid(output: Any) -> None:
    ctx, word = await pending(), Word()
    progress = ctx.progress.model_copy(update={"candidate": Candidate(output=output)})
    end = await loop_of(Script(passed("?"), passed("b")), word).resume(ctx.model_copy(update={"progress": progress}))
    assert end == Passed("B")
    assert word.judged == ["b"]
