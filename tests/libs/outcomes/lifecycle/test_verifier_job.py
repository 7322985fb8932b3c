import json
from typing import Any

import pytest

from aex_models.canonical import canonical_bytes
from aex_models.contract import Candidate
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.ruling import RULING, Accepted, FinalResultRefused, Invalid, Rejected
from aex_outcomes.lifecycle.verifier_job import VerifierRaised, run_verifier
from tests.libs.outcomes.lifecycle.named_samples import left

SAMPLES = "tests.libs.outcomes.lifecycle.named_samples"
EXECUTION = {
    "contract_id": "ctr_1",
    "work_id": "work_1",
    "agent_id": "bot",
    "attempt_id": "att_1",
    "deadline": "2999-01-02T03:04:05Z",
}


def payload(
    function: str, output: Any, execution: dict[str, Any] | None = None, agent_ctx: AgentContext | None = None
) -> dict[str, Any]:
    """As a service sends it: JSON alone."""
    made = {
        "name": "mine",
        "config": {"verifiers": {"mine": {"path": f"{SAMPLES}:{function}"}}},
        "candidate": Candidate(output=output).model_dump(mode="json"),
        "agent_ctx": (agent_ctx or AgentContext(query="?")).model_dump(mode="json"),
        "execution_ctx": execution,
    }
    return dict(json.loads(json.dumps(made)))


async def ruled(*given: Any, **more: Any) -> Any:
    """The ruling, read as a service reads it, out of canonical JSON."""
    answer = await run_verifier(payload(*given, **more))
    return RULING.validate_json(canonical_bytes(answer))


async def test_what_the_verifier_returns_is_the_final_result() -> None:
    context = AgentContext(query={"text": "Minutes."}, attempt=2)
    ruling = await ruled("verify_summary", {"text": "fine"}, EXECUTION, context)
    assert ruling == Accepted(
        final_result={
            "text": "FINE",
            "attempt": 2,
            "contract_id": "ctr_1",
            "deadline": "2999-01-02T03:04:05Z",
            "in_time": True,
        }
    )


async def test_where_there_is_no_service_there_is_no_execution_context() -> None:
    assert await ruled("verify_alone", {"text": "fine"}) == Accepted(final_result=True)


async def test_a_rejection_a_fatal_one_and_an_invalid_output_differ() -> None:
    rejected = await ruled("verify_summary", {"text": "bad", "words": 3}, EXECUTION)
    assert isinstance(rejected, Rejected)
    assert rejected.rejection.model_dump() == {
        "message": "say something good", "code": "tone", "metadata": {"words": 3},
    }  # fmt: skip
    assert not rejected.fatal
    fatal = await ruled("verify_summary", {"text": "hopeless"}, EXECUTION)
    assert (fatal.fatal, fatal.rejection.message) == (True, "no attempt can help")
    invalid = await ruled("verify_summary", {"words": "many"}, EXECUTION)
    assert isinstance(invalid, Invalid)
    assert [each.path for each in invalid.errors] == ["/output/text", "/output/words"]


async def test_whatever_else_it_raises_is_reported_by_its_kind_and_its_position_and_no_word_of_it() -> None:
    with pytest.raises(VerifierRaised, match=r"^ZeroDivisionError at .*\.py:\d+ in verify_summary$") as raised:
        await run_verifier(payload("verify_summary", {"text": "broken"}, EXECUTION))
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("output", ["no json", '{"text": "t"} and more'])
async def test_the_position_is_the_operators_own_line(output: str) -> None:
    with pytest.raises(VerifierRaised, match=r" at .*named_samples\.py:\d+ in misreading$"):
        await run_verifier(payload("misreading", output))


async def test_a_task_that_is_left_behind_is_cancelled() -> None:
    assert await ruled("lingering", "obedient") == Accepted(final_result="obedient")
    assert left.pop().cancelled()


async def test_models_dates_decimals_and_sets_are_final_results_in_their_json_form() -> None:
    assert (await ruled("returning", "report")).final_result == {
        "at": "2026-01-02T00:00:00Z",
        "price": "1.10",
        "verdict": "good",
        "summary": {"text": "s", "words": 1},
        "seen": [3],
    }


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("nan", "/a/1: numbers must be finite"),
        ("big", "/a~1b: integers must be within"),
        ("surrogate", "lone surrogates"),
        ("circle", "Circular reference"),
        ("object", "object"),
        ("bytes", "utf-8"),
        ("grumpy", "RuntimeError: not x"),
        ("huge", "10000003 bytes of JSON, above 10000000"),
    ],
)
async def test_a_final_result_that_json_cannot_hold_is_its_operators_mistake_and_named(
    output: str, problem: str
) -> None:
    with pytest.raises(FinalResultRefused, match="the verifier mine cannot be used") as refused:
        await run_verifier(payload("returning", output))
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("output", "metadata"),
    [
        ("plain", {"b": [1, None], "a": {"text": "s", "words": 0}}),
        ("nan", {"a": "nan", "b": ["-inf", "1152921504606846976", 1e17], "c": "kept"}),
        ("long", {"first": "x" * 1000}),
    ],
)
async def test_a_rejection_stands_whatever_its_metadata_quote(output: str, metadata: dict[str, Any]) -> None:
    assert (await ruled("rejecting", output)).rejection.metadata == metadata


async def test_what_has_no_json_form_is_reported_by_its_text() -> None:
    metadata = (await ruled("rejecting", "odd")).rejection.metadata
    assert metadata.pop("a").startswith("<object object")
    assert metadata == {"b": "_w==", "c": "?", "d": "good"}


async def test_message_and_code_are_bounded_and_complete() -> None:
    rejection = (await ruled("rejecting", "long")).rejection
    assert (len(rejection.message), len(rejection.code)) == (4_000, 100)
    assert rejection.message.endswith("m…")
    assert (await ruled("rejecting", "plain")).rejection.message == "?"
